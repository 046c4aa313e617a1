import Events
import JSON
import Time

/// A held notification: the newest of the matches that replaced each other, and the changes that the notification
/// stands for.
struct HeldNotification {
    /// The most changes that one notification lists. A notification that reaches this number leaves at once, so its
    /// event stays small.
    static let causesMax = 10_000

    /// When the first match came.
    let since: Instant
    /// The latest time at which the notification leaves.
    let limit: Instant
    /// The position of the first match. Notifications that are due at the same time leave in the order of these
    /// positions.
    let first: UInt64
    /// The changes that the notification stands for, at least one. The last is the change of the newest match.
    private(set) var causes: [UInt64]
    private(set) var origin: OriginKey
    private(set) var isOriginShared = true
    private(set) var newest: HeldMatch
    /// Set if the notification leaves early because of the limit per user.
    var atLimit: AtLimit?

    var isFull: Bool { causes.count >= HeldNotification.causesMax }

    mutating func replace(with match: Match) {
        if causes.last != match.change { causes.append(match.change) }
        isOriginShared = isOriginShared && origin == OriginKey(match.origin)
        newest = HeldMatch(match)
    }

    /// Writes the newest match as a notification. The notification names the origin only if all changes have the same
    /// origin.
    func write(into buffer: inout ByteBuffer) {
        buffer.appendNotification(causes: causes, atLimit: atLimit)
        newest.writeMembers(withOrigin: isOriginShared, into: &buffer)
    }

    /// Writes the event that says that `match` replaces this notification.
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
        newest.writeUserAndSubscription(into: &buffer)
        buffer.append(byte: UInt8(ascii: "}"))
    }
}

extension HeldNotification {
    init(_ match: Match, since: Instant, limit: Instant) {
        self.init(
            since: since, limit: limit, first: match.sequence, causes: [match.change], origin: OriginKey(match.origin),
            newest: HeldMatch(match))
    }
}

/// A copy of a match's text, and the positions of its parts.
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

    func writeUserAndSubscription(into buffer: inout ByteBuffer) {
        buffer.append(member: .user)
        append(user, to: &buffer)
        buffer.append(member: .subscriptionID)
        append(subscriptionID, to: &buffer)
    }

    private func append(_ range: Range<Int>, to buffer: inout ByteBuffer) {
        text.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
}
