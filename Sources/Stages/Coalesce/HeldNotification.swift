import Events
import JSON
import Time

/// The newest match of those that replaced each other, and what it stands for.
struct HeldNotification {
    /// The most changes that one notification lists, so that it stays an event of bounded size; then it leaves at once.
    static let causesMax = 10_000

    /// When the first match came.
    let since: Instant
    /// When it leaves, whatever arrives.
    let limit: Instant
    /// Position of the first match held: what is due at one time leaves in this order.
    let first: UInt64
    private(set) var causes: [UInt64]
    private(set) var origin: OriginKey
    private(set) var isOriginShared = true
    private(set) var newest: HeldMatch
    /// Why it leaves before its time.
    var atLimit: AtLimit?

    init(_ match: Match, since: Instant, limit: Instant) {
        self.since = since
        self.limit = limit
        first = match.sequence
        causes = [match.change]
        origin = OriginKey(match.origin)
        newest = HeldMatch(match)
    }

    /// - Parameter causes: Ends with the change of the newest match. Never empty.
    init(
        _ newest: Match, since: Instant, limit: Instant, first: UInt64, causes: [UInt64], origin: OriginKey,
        isOriginShared: Bool, atLimit: AtLimit?
    ) {
        self.since = since
        self.limit = limit
        self.first = first
        self.causes = causes
        self.origin = origin
        self.isOriginShared = isOriginShared
        self.newest = HeldMatch(newest)
        self.atLimit = atLimit
    }

    var isFull: Bool { causes.count >= HeldNotification.causesMax }

    mutating func replace(with match: Match) {
        if causes.last != match.change { causes.append(match.change) }
        isOriginShared = isOriginShared && origin == OriginKey(match.origin)
        newest = HeldMatch(match)
    }

    /// Writes the newest match as a notification; it names the origin only if all its changes have the same.
    func write(into buffer: inout ByteBuffer) {
        buffer.appendNotification(causes: causes, atLimit: atLimit)
        newest.writeMembers(withOrigin: isOriginShared, into: &buffer)
    }

    /// Writes the record of the newest match giving way to a newer one.
    func writeCoalesced(replacedBy match: Match, into buffer: inout ByteBuffer) {
        buffer.begin(event: EventName.coalesced)
        buffer.append(member: .match)
        buffer.appendJSON(newest.sequence)
        buffer.append(member: .change)
        buffer.appendJSON(newest.change)
        buffer.append(member: .replacedBy)
        buffer.appendJSON(match.sequence)
        buffer.append(member: .replacedByChange)
        buffer.appendJSON(match.change)
        newest.writeAddress(into: &buffer)
        buffer.append(byte: UInt8(ascii: "}"))
    }
}

/// A match's text, kept beyond its event, and where its parts stand.
struct HeldMatch {
    let sequence: UInt64
    let change: UInt64
    let text: [UInt8]
    private let layout: Match.Layout
    private let user: Range<Int>
    private let subscriptionID: Range<Int>

    init(_ match: Match) {
        sequence = match.sequence
        change = match.change
        text = Array(match.text)
        layout = match.layout
        user = match.range(of: match.user)
        subscriptionID = match.range(of: match.subscriptionID)
    }

    /// Writes the members after the type, and the closing brace.
    func writeMembers(withOrigin: Bool, into buffer: inout ByteBuffer) {
        guard !withOrigin, let origin = layout.origin else {
            return append(layout.typeEnd..<text.count, to: &buffer)
        }
        append(layout.typeEnd..<origin.lowerBound, to: &buffer)
        append(origin.upperBound..<text.count, to: &buffer)
    }

    func writeAddress(into buffer: inout ByteBuffer) {
        buffer.append(member: .user)
        append(user, to: &buffer)
        buffer.append(member: .subscriptionID)
        append(subscriptionID, to: &buffer)
    }

    private func append(_ range: Range<Int>, to buffer: inout ByteBuffer) {
        text.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
}
