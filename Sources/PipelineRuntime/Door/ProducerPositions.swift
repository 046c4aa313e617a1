import EventLog

/// Whom each producer's name belongs to, how far the producer has come, and what its lines were.
///
/// In the log's cursor a producer has two entries: `at OWNER NAME`, its last line's number, and `sum OWNER NAME`, what its
/// lines were (see ``LineRecord``). In the logs of earlier versions it has one, `NAME`: that name belongs to whoever uses
/// it next, and what its lines were is not known.
///
/// Whoever may send can use any number of names. So a lasting name under which a line was accepted is never forgotten, and
/// a name makes room for others only where nothing of it is in the log, or where its producer does not come back.
struct ProducerPositions {
    /// All names. With the longest ones their entries fill a cursor.
    static let namesMax = 2_112
    /// Names with accepted lines; the other places are for names that have none yet.
    static let acceptedMax = 2_080
    /// Lasting names with accepted lines; a few places stay for passing ones.
    static let lastingMax = 2_048
    /// How a name begins whose producer does not come back.
    static let passingMark = "~"

    struct Position: Equatable {
        /// Nil in the logs of earlier versions.
        let owner: ProducerOwner?
        var through: UInt64
        /// Nil where the log does not tell.
        var checksum: LineChecksum?
        /// How many of the lines were refused; nil where the log does not tell.
        var refused: UInt64?

        var hasAcceptedLines: Bool { refused.map { through > $0 } ?? true }
    }

    /// What is forgotten before what.
    private enum Standing: CaseIterable {
        /// No line was accepted.
        case refused
        case passing
        /// Of an earlier version, and nobody has used it since.
        case inherited
        case lasting
    }

    private struct Entry {
        var position: Position
        var used: UInt64
        let standing: Standing

        init(_ name: String, _ position: Position, used: UInt64) {
            self.position = position
            self.used = used
            standing = Entry.standing(of: name, position)
        }

        /// Earlier versions called a passing producer `send HOST PID`.
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
    /// The entries for the cursor of the next batch; 0 for a producer that was forgotten.
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

    /// Nil for a name that belongs to nobody.
    subscript(name: String) -> Position? { entries[name]?.position }

    var hasChanged: Bool { !changes.isEmpty }

    /// Whether a line may be accepted under that name.
    func hasRoom(for name: String) -> Bool {
        if ProducerPositions.isPassing(name) { return true }
        let standing = entries[name]?.standing ?? .refused
        return standing != .refused || count(.lasting) < Self.lastingMax
    }

    /// - Parameter position: That of the name's owner; there is room for the name.
    mutating func advance(_ name: String, to position: Position) {
        let present = self[name]
        guard let owner = position.owner, present?.owner == nil || present?.owner == owner else {
            preconditionFailure("the lines of '\(name)' came from another producer than its owner")
        }
        guard position.through > present?.through ?? 0 else { return }
        if present != nil, present?.owner == nil { changes.positions[name] = 0 }
        uses += 1
        set(name, position)
        changes.positions[Self.key(.at, owner, name)] = position.through
        if let sum = position.checksum {
            let record = LineRecord(checksum: sum, refused: position.refused)
            changes.positions[Self.key(.sum, owner, name)] = record.entry
        }
        makeRoom(beside: name)
    }

    /// Takes note that the batch was appended.
    mutating func settleChanges() { changes = Cursor() }

    private func count(_ standing: Standing) -> Int { counts[standing, default: 0] }

    private mutating func set(_ name: String, _ position: Position?) {
        if let standing = entries[name]?.standing { counts[standing, default: 0] -= 1 }
        entries[name] = position.map { Entry(name, $0, used: uses) }
        if let standing = entries[name]?.standing { counts[standing, default: 0] += 1 }
    }

    private mutating func makeRoom(beside name: String) {
        while entries.count - count(.refused) > Self.acceptedMax, forgetOldest([.passing, .inherited], beside: name) {}
        while entries.count > Self.namesMax, forgetOldest([.refused], beside: name) {}
    }

    /// - Returns: Whether there was one.
    private mutating func forgetOldest(_ standings: [Standing], beside name: String) -> Bool {
        for standing in standings where count(standing) > 0 {
            let oldest = entries.lazy.filter { $0.value.standing == standing && $0.key != name }
                .min { ($0.value.used, $0.key) < ($1.value.used, $1.key) }
            guard let oldest else { continue }
            set(oldest.key, nil)
            for key in Self.keys(of: oldest.key, oldest.value.position) { changes.positions[key] = 0 }
            return true
        }
        return false
    }

    private static func isPassing(_ name: String) -> Bool { name.hasPrefix(passingMark) }

    // MARK: Names of entries

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

/// What a producer's lines were, as one number of the log's cursor: in the lower 33 bits one more than their checksum (0
/// would forget them), above them one more than the number of refused lines, or 0 in the logs of earlier versions.
private struct LineRecord {
    let checksum: LineChecksum
    let refused: UInt64?

    private static let checksumBits: UInt64 = 33
    /// More refused lines are counted as so many.
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
