import EventLog

/// For each producer's name: its owner, the number of its last line, and a record of its lines.
///
/// In the log's cursor a producer has two entries: `at OWNER NAME` for its last line's number, and `sum OWNER NAME` for
/// its lines (see ``LineRecord``). Earlier versions wrote one entry, `NAME`, without an owner and without a record of
/// lines. The next producer that uses such a name becomes its owner. Such a name never gets a `sum` entry.
///
/// A passing name begins with ``passingMark``: its producer does not come back. All other names are lasting.
///
/// Any client may use any number of names, so the door keeps a limited number of them. To make room, it forgets names
/// without an accepted line, passing names, and names that no producer has used since an earlier version. It never
/// forgets any other name.
struct ProducerPositions {
    /// The most names that the door keeps. If each has the maximum length, their entries fill a cursor.
    static let namesMax = 2_112
    /// The most names with accepted lines. The remaining places are for names without any accepted line.
    static let acceptedMax = 2_080
    /// While this many lasting names have accepted lines, no new lasting name is accepted. The remaining places are for
    /// passing names. A name from an earlier version counts here only after it is used again, and is always accepted.
    static let lastingMax = 2_048
    /// The beginning of a passing name, whose producer does not come back.
    static let passingMark = "~"

    struct Position: Equatable {
        /// Nil if an earlier version recorded the name.
        let owner: ProducerOwner?
        var through: UInt64
        /// The checksum of the lines; nil if the log does not record it.
        var checksum: LineChecksum?
        /// How many of the lines were refused; nil if the log does not record the number.
        var refused: UInt64?

        var hasAcceptedLines: Bool { refused.map { through > $0 } ?? true }
    }

    /// The kinds of names. If too many names have accepted lines, `passing` names are forgotten first, then `inherited`
    /// names. If there are still too many names, `refused` names are forgotten.
    private enum Standing: CaseIterable {
        /// Without an accepted line.
        case refused
        case passing
        /// From an earlier version, and not used since.
        case inherited
        case lasting
    }

    private struct Entry {
        var position: Position
        /// The number of the name's last use, counted over all names; 0 if the name was not used since the start.
        var lastUse: UInt64
        let standing: Standing

        init(_ name: String, _ position: Position, lastUse: UInt64) {
            self.position = position
            self.lastUse = lastUse
            standing = Entry.standing(of: name, position)
        }

        /// Earlier versions named a passing producer `send HOST PID`.
        private static func standing(of name: String, _ position: Position) -> Standing {
            if !position.hasAcceptedLines { return .refused }
            if ProducerPositions.isPassing(name) { return .passing }
            guard position.owner == nil else { return .lasting }
            return name.hasPrefix("send ") ? .passing : .inherited
        }
    }

    private var entries: [String: Entry] = [:]
    private var counts: [Standing: Int] = [:]
    private var uses: UInt64 = 0
    /// The cursor entries to record in the next batch. The entries of a forgotten name are 0, which deletes them.
    private(set) var changes = Cursor()

    init(_ cursor: Cursor) {
        for (key, value) in cursor.positions {
            guard let (kind, owner, name) = ProducerPositions.parts(of: key) else {
                if entries[key] == nil { set(key, Position(owner: nil, through: value)) }
                continue
            }
            guard kind == .at else { continue }
            let record = cursor.positions[ProducerPositions.key(.sum, owner, name)].map(LineRecord.init(entry:))
            set(
                name,
                Position(owner: owner, through: value, checksum: record?.checksum, refused: record?.refused))
        }
    }

    /// Nil for a name that the door does not know.
    subscript(name: String) -> Position? { entries[name]?.position }

    var hasChanged: Bool { !changes.isEmpty }

    /// Whether the door has room to accept a line under this name.
    func hasRoom(for name: String) -> Bool {
        if ProducerPositions.isPassing(name) { return true }
        let standing = entries[name]?.standing ?? .refused
        return standing != .refused || count(.lasting) < Self.lastingMax
    }

    /// - Parameter position: The name's new position. It must have an owner: the name's owner, if the name has one
    ///   already. There must be room for the name.
    mutating func advance(_ name: String, to position: Position) {
        let current = self[name]
        guard let owner = position.owner, current?.owner == nil || current?.owner == owner else {
            preconditionFailure("the lines of '\(name)' came from another producer than its owner")
        }
        guard position.through > current?.through ?? 0 else { return }
        if current != nil, current?.owner == nil { changes.positions[name] = 0 }
        uses += 1
        set(name, position)
        changes.positions[Self.key(.at, owner, name)] = position.through
        if let sum = position.checksum {
            let record = LineRecord(checksum: sum, refused: position.refused)
            changes.positions[Self.key(.sum, owner, name)] = record.entry
        }
        makeRoom(keeping: name)
    }

    mutating func clearChanges() { changes = Cursor() }

    private func count(_ standing: Standing) -> Int { counts[standing, default: 0] }

    private mutating func set(_ name: String, _ position: Position?) {
        if let standing = entries[name]?.standing { counts[standing, default: 0] -= 1 }
        entries[name] = position.map { Entry(name, $0, lastUse: uses) }
        if let standing = entries[name]?.standing { counts[standing, default: 0] += 1 }
    }

    private mutating func makeRoom(keeping name: String) {
        while entries.count - count(.refused) > Self.acceptedMax, forgetOldest([.passing, .inherited], keeping: name) {}
        while entries.count > Self.namesMax, forgetOldest([.refused], keeping: name) {}
    }

    /// - Returns: Whether a name was forgotten.
    private mutating func forgetOldest(_ standings: [Standing], keeping name: String) -> Bool {
        for standing in standings where count(standing) > 0 {
            let oldest = entries.lazy.filter { $0.value.standing == standing && $0.key != name }
                .min { ($0.value.lastUse, $0.key) < ($1.value.lastUse, $1.key) }
            guard let oldest else { continue }
            set(oldest.key, nil)
            for key in Self.keys(of: oldest.key, oldest.value.position) { changes.positions[key] = 0 }
            return true
        }
        return false
    }

    private static func isPassing(_ name: String) -> Bool { name.hasPrefix(passingMark) }

    // MARK: Cursor entries

    private enum Kind: String, CaseIterable { case at, sum }

    private static func key(_ kind: Kind, _ owner: ProducerOwner, _ name: String) -> String {
        "\(kind.rawValue) \(owner.text) \(name)"
    }

    private static func keys(of name: String, _ position: Position) -> [String] {
        guard let owner = position.owner else { return [name] }
        return Kind.allCases.map { key($0, owner, name) }
    }

    private static func parts(of key: String) -> (Kind, ProducerOwner, String)? {
        let words = key.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count == 3, let kind = Kind(rawValue: String(words[0])), let owner = ProducerOwner(text: words[1])
        else { return nil }
        return (kind, owner, String(words[2]))
    }
}

/// A record of a producer's lines, as one number in the log's cursor. The lower 33 bits are the lines' checksum plus
/// one (0 would delete the entry). The upper bits are the number of refused lines plus one. They are 0 if this number
/// is unknown, because an earlier version began the record without it.
private struct LineRecord {
    let checksum: LineChecksum
    let refused: UInt64?

    private static let checksumBits: UInt64 = 33
    /// The largest number of refused lines that fits.
    private static let refusedMax = UInt64.max >> checksumBits - 1

    init(checksum: LineChecksum, refused: UInt64?) {
        (self.checksum, self.refused) = (checksum, refused)
    }

    init(entry: UInt64) {
        checksum = LineChecksum(UInt32(truncatingIfNeeded: entry &- 1))
        let count = entry >> LineRecord.checksumBits
        refused = count > 0 ? count - 1 : nil
    }

    var entry: UInt64 {
        let count = refused.map { min($0, LineRecord.refusedMax) + 1 } ?? 0
        return count << LineRecord.checksumBits | (UInt64(checksum.value) + 1)
    }
}
