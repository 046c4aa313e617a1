import EventLog

/// Whom each producer's name belongs to, how far the producer has come, and what its lines were.
///
/// In the log's cursor a producer has two entries: `at OWNER NAME`, its last line's number, and `sum OWNER NAME`, one
/// more than the checksum of its lines (0 would forget it). In the logs of earlier versions it has one, `NAME`: that name
/// belongs to whoever uses it next, and what its lines were is not known.
struct ProducerPositions {
    /// Producers that may be resumed; beyond that, the one that has been silent longest is forgotten, but those with a
    /// passing name first. With the longest names their entries fill a cursor.
    static let producersMax = 2_048
    /// How a name begins whose producer does not come back.
    static let passingMark = "~"

    struct Position: Equatable {
        /// Nil in the logs of earlier versions.
        let owner: ProducerOwner?
        var through: UInt64
        /// Nil where the log does not tell.
        var checksum: LineChecksum?
    }

    private struct Entry {
        var position: Position
        var used: UInt64
    }

    private var entries: [String: Entry] = [:]
    private var uses: UInt64 = 0
    /// The entries for the cursor of the next batch; 0 for a producer that was forgotten.
    private(set) var changes = Cursor()

    init(_ cursor: Cursor) {
        for (key, value) in cursor.positions {
            guard let (kind, owner, name) = ProducerPositions.parts(of: key) else {
                if entries[key] == nil { entries[key] = Entry(position: Position(owner: nil, through: value), used: 0) }
                continue
            }
            guard kind == .at else { continue }
            let sum = cursor.positions[ProducerPositions.key(.sum, owner, name)]
            let checksum = sum.map { LineChecksum(UInt32(truncatingIfNeeded: $0 &- 1)) }
            entries[name] = Entry(position: Position(owner: owner, through: value, checksum: checksum), used: 0)
        }
    }

    /// Nil for a name that belongs to nobody.
    subscript(name: String) -> Position? { entries[name]?.position }

    var hasChanged: Bool { !changes.isEmpty }

    /// - Parameter position: That of the name's owner.
    mutating func advance(_ name: String, to position: Position) {
        let present = self[name]
        guard let owner = position.owner, present?.owner == nil || present?.owner == owner else {
            preconditionFailure("the lines of '\(name)' came from another producer than its owner")
        }
        guard position.through > present?.through ?? 0 else { return }
        let others = Self.producersMax - (present == nil ? 1 : 0)
        while entries.count > others { forgetOldest() }
        if present != nil, present?.owner == nil { changes.positions[name] = 0 }
        uses += 1
        entries[name] = Entry(position: position, used: uses)
        changes.positions[Self.key(.at, owner, name)] = position.through
        if let sum = position.checksum?.value { changes.positions[Self.key(.sum, owner, name)] = UInt64(sum) + 1 }
    }

    /// Takes note that the batch was appended.
    mutating func settleChanges() { changes = Cursor() }

    private mutating func forgetOldest() {
        let oldest = entries.min { one, other in
            let (isPassing, isOtherPassing) = (Self.isPassing(one), Self.isPassing(other))
            guard isPassing == isOtherPassing else { return isPassing }
            return (one.value.used, one.key) < (other.value.used, other.key)
        }
        guard let oldest else { return }
        entries[oldest.key] = nil
        for key in Self.keys(of: oldest.key, oldest.value.position) { changes.positions[key] = 0 }
    }

    /// Earlier versions called a passing producer `send HOST PID`.
    private static func isPassing(_ entry: (key: String, value: Entry)) -> Bool {
        entry.key.hasPrefix(passingMark) || entry.value.position.owner == nil && entry.key.hasPrefix("send ")
    }

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
