import Events
import JSON
import Time

/// A held notification: the newest of the matches that replaced each other, and the changes that the notification
/// stands for.
///
/// The value has the size of a reference. Its parts are in one block of memory, except the list of earlier changes: the
/// block refers to an array with this list. A newer match makes a new block, so a block that several copies of the
/// value share never changes.
struct HeldNotification {
    /// The most changes that one notification lists. A notification that reaches this number leaves at once. This
    /// limits the size of its event.
    static let causesMax = 10_000

    private struct Fields {
        let since: Instant
        let limit: Instant
        let sequence: UInt64
        let change: UInt64
        /// The changes that the notification stands for, without the change of the newest match.
        var earlier: [UInt64]
        let places: Places
        let isOriginShared: Bool
        let atLimit: AtLimit?
    }

    /// The members of ``Fields``, then the text of the newest match after its first member, the type.
    private var block: ManagedBuffer<Fields, UInt8>

    /// When the first match came.
    var since: Instant { block.header.since }
    /// The latest time at which the notification leaves.
    var limit: Instant { block.header.limit }
    /// The position of the newest match in the matches log.
    var sequence: UInt64 { block.header.sequence }
    /// How the limit per user makes the notification leave early; nil if the limit does not do this.
    var atLimit: AtLimit? { block.header.atLimit }
    /// Whether all changes have the same origin.
    var isOriginShared: Bool { block.header.isOriginShared }
    /// The changes that the notification stands for, at least one. The last is the change of the newest match.
    var causes: [UInt64] { block.header.earlier + [block.header.change] }
    var causeCount: Int { block.header.earlier.count + 1 }
    var isFull: Bool { causeCount >= HeldNotification.causesMax }

    /// - Parameters:
    ///   - match: The newest match.
    ///   - earlier: The changes that the notification stands for, without the change of the newest match.
    init(
        _ match: Match, since: Instant, limit: Instant, earlier: [UInt64] = [], isOriginShared: Bool = true,
        atLimit: AtLimit? = nil
    ) {
        let layout = match.layout
        let fields = Fields(
            since: since, limit: limit, sequence: match.sequence, change: match.change, earlier: earlier,
            places: Places(match, layout), isOriginShared: isOriginShared, atLimit: atLimit)
        block = HeldNotification.block(fields, UnsafeRawBufferPointer(rebasing: match.text[layout.typeEnd...]))
    }

    private init(_ block: ManagedBuffer<Fields, UInt8>) { self.block = block }

    private static func block(_ fields: Fields, _ text: UnsafeRawBufferPointer) -> ManagedBuffer<Fields, UInt8> {
        let block = ManagedBuffer<Fields, UInt8>.create(minimumCapacity: text.count) { _ in fields }
        block.withUnsafeMutablePointerToElements {
            UnsafeMutableRawBufferPointer(start: $0, count: text.count).copyMemory(from: text)
        }
        return block
    }

    /// Puts a newer match in the place of the newest match so far.
    mutating func replace(with match: Match) {
        let isOriginShared = isOriginShared && hasSameOrigin(as: match)
        let (since, limit, change, atLimit) = (since, limit, block.header.change, atLimit)
        var earlier = takeEarlier()
        if change != match.change { earlier.append(change) }
        self = HeldNotification(
            match, since: since, limit: limit, earlier: earlier, isOriginShared: isOriginShared, atLimit: atLimit)
    }

    /// Takes the earlier changes out of the block, so that another change can be appended without copying them. If the
    /// block is shared, returns a copy.
    private mutating func takeEarlier() -> [UInt64] {
        guard isKnownUniquelyReferenced(&block) else { return block.header.earlier }
        var earlier: [UInt64] = []
        swap(&earlier, &block.header.earlier)
        return earlier
    }

    /// The notification, leaving early because of the limit per user.
    func leaving(because reason: AtLimit) -> HeldNotification {
        let fields = block.header
        let early = Fields(
            since: fields.since, limit: fields.limit, sequence: fields.sequence, change: fields.change,
            earlier: fields.earlier, places: fields.places, isOriginShared: fields.isOriginShared, atLimit: reason)
        return withText { HeldNotification(HeldNotification.block(early, $0)) }
    }
}

// MARK: - Comparing

extension HeldNotification {
    /// Whether the notification is held under this key.
    func isHeld(as key: HoldKey) -> Bool {
        withText { text in
            let places = block.header.places
            var strings = key.strings
            for place in places.user where !strings.next(is: TextString(text, at: place)) { return false }
            guard strings.next(is: TextString(text, at: places.collapseIDOrDatabase)) else { return false }
            let isEnd = places.hasCollapseID || strings.next(is: TextString(text, at: places.subscriptionID))
            return isEnd && strings.isAtEnd
        }
    }

    /// Whether the notification is for the user of this key.
    func isOfUser(of key: HoldKey) -> Bool {
        withText { text in
            var strings = key.strings
            return block.header.places.user.allSatisfy { strings.next(is: TextString(text, at: $0)) }
        }
    }

    /// Whether two notifications are for the same user, container and environment.
    func hasSameUser(as other: HeldNotification) -> Bool {
        withText { text in
            other.withText { otherText in
                zip(block.header.places.user, other.block.header.places.user).allSatisfy {
                    TextString(text, at: $0) == TextString(otherText, at: $1)
                }
            }
        }
    }

    /// The key under which the notification is held.
    var key: HoldKey {
        withText { text in
            let places = block.header.places
            let last = places.hasCollapseID ? nil : TextString(text, at: places.subscriptionID)
            return HoldKey(
                places.user.map { TextString(text, at: $0) } + [TextString(text, at: places.collapseIDOrDatabase)]
                    + [last].compactMap(\.self))
        }
    }

    /// Whether a match has the origin of the newest match.
    private func hasSameOrigin(as match: Match) -> Bool {
        withText { text in
            guard let place = block.header.places.origin else { return OriginKey(match.origin) == OriginKey(nil) }
            let origin = UnsafeRawBufferPointer(rebasing: text[place])
            if let other = match.origin, other.raw.elementsEqual(origin) { return true }
            var parser = JSONParser(limits: HeldNotification.limits)
            do throws(JSONError) { return OriginKey(try parser.parse(origin)) == OriginKey(match.origin) } catch {
                preconditionFailure("the origin of a held match cannot be parsed: \(error)")
            }
        }
    }
}

// MARK: - Writing

extension HeldNotification {
    /// The limits that the host applies to the events of a log.
    static let limits = JSONLimits(depthMax: JSONLimits().depthMax + 8)

    /// Writes the newest match as a notification. The notification names the origin only if all changes have the same
    /// origin.
    func write(into buffer: inout ByteBuffer) {
        buffer.appendNotification(causes: causes, atLimit: atLimit)
        withText { text in
            guard !isOriginShared, let origin = block.header.places.originMember else { return buffer.append(text) }
            buffer.append(UnsafeRawBufferPointer(rebasing: text[..<origin.lowerBound]))
            buffer.append(UnsafeRawBufferPointer(rebasing: text[origin.upperBound...]))
        }
    }

    /// Writes the event that says that `match` replaces this notification.
    func writeCoalesced(replacedBy match: Match, into buffer: inout ByteBuffer) {
        buffer.begin(event: EventName.coalesced)
        buffer.append(member: .match)
        buffer.appendJSON(sequence)
        buffer.append(member: .change)
        buffer.appendJSON(block.header.change)
        buffer.append(member: .replacedBy)
        buffer.appendJSON(match.sequence)
        buffer.append(member: .replacedByChange)
        buffer.appendJSON(match.change)
        withText { text in
            buffer.append(member: .user)
            buffer.append(TextString(text, at: block.header.places.user[2]).raw)
            buffer.append(member: .subscriptionID)
            buffer.append(TextString(text, at: block.header.places.subscriptionID).raw)
        }
        buffer.append(byte: UInt8(ascii: "}"))
    }

    /// The text of the newest match, with its type.
    var matchText: [UInt8] {
        var buffer = ByteBuffer()
        buffer.begin(event: EventName.match)
        withText { buffer.append($0) }
        return Array(buffer.bytes)
    }

    private func withText<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        block.withUnsafeMutablePointers { fields, bytes in
            body(UnsafeRawBufferPointer(start: bytes, count: Int(fields.pointee.places.end)))
        }
    }
}

// MARK: - The parts of a match's text

/// Where the parts of a match are in its text, in bytes after the match's first member, the type.
private struct Places {
    private let container, environment, userName: UInt32
    private let collapseIDOrDatabasePlace, subscriptionIDPlace: UInt32
    private let originComma, originStart, originEnd: UInt32
    /// The length of the text.
    let end: UInt32
    let hasCollapseID: Bool

    init(_ match: Match, _ layout: Match.Layout) {
        let start = match.json.offset + layout.typeEnd
        func place(_ value: JSONValue) -> UInt32 { UInt32(value.offset - start) }
        container = place(match.container)
        environment = place(match.environment)
        userName = place(match.user)
        collapseIDOrDatabasePlace = place(match.collapseID ?? match.database)
        subscriptionIDPlace = place(match.subscriptionID)
        hasCollapseID = match.collapseID != nil
        if let range = layout.origin, let origin = match.origin {
            originComma = UInt32(range.lowerBound - layout.typeEnd)
            originStart = place(origin)
            originEnd = UInt32(range.upperBound - layout.typeEnd)
        } else {
            (originComma, originStart, originEnd) = (0, 0, 0)
        }
        end = UInt32(match.text.count - layout.typeEnd)
    }

    /// The places of the container, the environment and the user.
    var user: [Int] { [Int(container), Int(environment), Int(userName)] }
    var collapseIDOrDatabase: Int { Int(collapseIDOrDatabasePlace) }
    var subscriptionID: Int { Int(subscriptionIDPlace) }
    /// The place of the origin's value; nil if the match has no origin.
    var origin: Range<Int>? { originEnd == 0 ? nil : Int(originStart)..<Int(originEnd) }
    /// The place of the origin member, with its name and the comma before it; nil if the match has no origin.
    var originMember: Range<Int>? { originEnd == 0 ? nil : Int(originComma)..<Int(originEnd) }
}
