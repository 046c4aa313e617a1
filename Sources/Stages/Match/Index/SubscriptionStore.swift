import Events
import JSON
import PipelineKit

/// All saved subscriptions. Each subscription has a slot: a row of 32 bytes, and a packed text.
struct SubscriptionStore {
    struct Row {
        /// The sequence of the `subscription.save`.
        var savedAt: UInt64
        /// The index in ``SubscriptionStore/heads``.
        var head: Int32
        /// The number of the notification info, or -1 if the subscription has no notification info.
        var info: Int32
        /// The position in the index.
        var placement: Placement
        /// The position of the stored text. The stored text consists of the lengths of user and subscription ID, the
        /// user, the subscription ID, and the packed text. User and ID are as written in the event, but without quotes.
        var text: TextStore.Position
        var subscriptionType: Subscription.SubscriptionType
        var firesOnce: Bool
        /// Whether the predicate has a condition, but the index can use no part of it. The subscription is then
        /// evaluated for nearly every change of its record type.
        var isUnindexed: Bool
    }

    /// Container, environment and database, as written in a subscription.
    struct Head {
        /// The number in ``SubscriptionIndex/homes``.
        let home: Int32
        /// The three members as JSON: `"container":…,"environment":…,"database":…`.
        let text: [UInt8]
        /// The container's name, with quotes.
        let container: [UInt8]
    }

    /// A position in a list of the index, or in the intervals of a list.
    struct Placement: Equatable {
        private let list: UInt32
        /// The entry's position in the list. For intervals, the ``Intervals/Start/low`` of the entry's interval.
        let position: UInt32

        private static let intervalsBit: UInt32 = 1 << 31

        static let none = Placement(list: .max, position: 0)
        /// Stands for several placements, which are in ``SubscriptionIndex/placements``.
        static let several = Placement(list: .max, position: 1)

        private init(list: UInt32, position: UInt32) { (self.list, self.position) = (list, position) }

        init(list: UInt32, position: Int) { self.init(list: list, position: UInt32(position)) }

        init(intervals: Int32, _ start: Intervals.Start) {
            self.init(
                list: UInt32(bitPattern: intervals) << 1 | Placement.intervalsBit | (start.isMirrored ? 1 : 0),
                position: start.low)
        }

        var listID: UInt32? { list & Placement.intervalsBit == 0 ? list : nil }

        var intervals: (number: Int32, start: Intervals.Start)? {
            guard list != .max, list & Placement.intervalsBit != 0 else { return nil }
            return (
                Int32(bitPattern: (list & ~Placement.intervalsBit) >> 1),
                Intervals.Start(low: position, isMirrored: list & 1 == 1)
            )
        }
    }

    private(set) var rows = Pool<Row>()
    private var texts = TextStore()
    private(set) var heads: [Head] = []
    private var headNumbers = SymbolTable()
    private(set) var infos = NotificationInfos()
    /// The slots, hashed by the identities of their subscriptions.
    private var numbers = HashedNumbers()
    /// The memory in which each text is put together. It is reused for the next text.
    private let scratch = Slab<UInt8>()

    /// Whether there is room for another subscription.
    var hasRoom: Bool { count < Entry.slotMax && texts.hasRoom }

    var count: Int { numbers.count }

    var slots: [Int32] { numbers.all }

    subscript(slot: Int32) -> Row {
        @inline(__always) _read { yield rows[slot] }
        _modify { yield &rows[slot] }
    }

    mutating func reserveCapacity(_ count: Int) {
        rows.reserveCapacity(count)
        numbers.reserveCapacity(count)
    }
}

// MARK: - Saving and deleting

extension SubscriptionStore {
    func find(_ identity: Subscription.Identity, home: Int32) -> Int32? {
        numbers.find(identity.hash) { slot in
            unsafe heads[Int(rows[slot].head)].home == home && user(slot).isSame(as: identity.user)
                && id(slot).isSame(as: identity.subscriptionID)
        }
    }

    /// Adds a subscription. Its identity must not be in the store yet.
    ///
    /// - Parameter info: The result of ``addInfo(_:)``.
    mutating func add(
        _ subscription: borrowing Subscription, home: Int32, info: Int32, savedAt: UInt64, isUnindexed: Bool
    ) -> Int32 {
        let head = head(subscription.identity, home)
        let slot = rows.add(
            Row(
                savedAt: savedAt, head: head, info: info, placement: .none, text: addText(subscription),
                subscriptionType: subscription.subscriptionType, firesOnce: subscription.firesOnce,
                isUnindexed: isUnindexed))
        numbers.insert(slot, subscription.identity.hash)
        return slot
    }

    mutating func addInfo(_ info: JSONValue?) throws(Rejection) -> Int32 { try infos.add(info) }

    mutating func remove(_ slot: Int32) {
        numbers.remove(slot, identityHash(slot))
        infos.remove(rows[slot].info)
        texts.remove(rows[slot].text)
        rows.free(slot)
    }

    private mutating func head(_ identity: Subscription.Identity, _ home: Int32) -> Int32 {
        scratch.removeAll()
        scratch.append("\"container\":")
        unsafe scratch.append(contentsOf: identity.container.raw)
        scratch.append(",\"environment\":")
        unsafe scratch.append(contentsOf: identity.environment.raw)
        scratch.append(",\"database\":\"")
        scratch.append(identity.database.word)
        scratch.append("\"")
        let text = unsafe UnsafeRawBufferPointer(scratch.view)
        let number = unsafe headNumbers.intern(text)
        if number == heads.count {
            unsafe heads.append(Head(home: home, text: Array(text), container: Array(identity.container.raw)))
        }
        return number
    }
}

// MARK: - Texts

extension SubscriptionStore {
    private mutating func addText(_ subscription: borrowing Subscription) -> TextStore.Position {
        let identity = subscription.identity
        let (user, id) = unsafe (identity.user.inner, identity.subscriptionID.inner)
        scratch.removeAll()
        scratch.appendLength(user.count)
        scratch.appendLength(id.count)
        unsafe scratch.append(contentsOf: user)
        unsafe scratch.append(contentsOf: id)
        unsafe PackedText.pack(subscription.event.raw, leavingOut: parts(of: subscription), into: scratch)
        return unsafe texts.add(UnsafeRawBufferPointer(scratch.view))
    }

    /// The parts of the text that are stored elsewhere, in order.
    private func parts(of subscription: borrowing Subscription) -> [PackedText.PartRange] {
        let (identity, start) = (subscription.identity, subscription.event.offset)
        var parts: [PackedText.PartRange] = []
        parts.reserveCapacity(4)
        func add(_ part: PackedText.Part, _ value: JSONValue) {
            let range = unsafe PackedText.PartRange(part: part, start: value.offset - start, count: value.raw.count)
            parts.insert(range, at: parts.firstIndex { $0.start > range.start } ?? parts.count)
        }
        add(.container, identity.container)
        add(.user, identity.user)
        add(.id, identity.subscriptionID)
        if let info = subscription.notificationInfo { add(.info, info) }
        return parts
    }

    /// The text of the `subscription.save`.
    func text(_ slot: Int32) -> [UInt8] {
        let (user, id, packed) = unsafe parts(slot)
        var text: [UInt8] = []
        text.reserveCapacity(packed.count * 6)
        unsafe PackedText.unpack(packed, into: &text) { part, text in
            switch part {
            case .container: text += heads[Int(rows[slot].head)].container
            case .info: text += infos[rows[slot].info].text
            case .user: unsafe SubscriptionStore.append(quoted: user, to: &text)
            case .id: unsafe SubscriptionStore.append(quoted: id, to: &text)
            }
        }
        return text
    }

    private static func append(quoted bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        unsafe text.append(contentsOf: bytes)
        text.append(UInt8(ascii: "\""))
    }

    /// Parses the subscription's text and calls `body` with the result.
    func withSubscription<Result>(
        _ slot: Int32, _ settings: MatchSettings = MatchSettings(), _ body: (Subscription) -> Result
    ) -> Result {
        var parser = JSONParser(limits: SubscriptionStore.limits)
        return unsafe text(slot).withUnsafeBytes { text in
            do {
                return unsafe body(try SubscriptionReader.subscription(try parser.parse(text), settings))
            } catch {
                preconditionFailure("the text of a saved subscription cannot be parsed: \(error)")
            }
        }
    }

    /// The limits that the host applies to the events of a log.
    static let limits = JSONLimits(depthMax: JSONLimits().depthMax + 8)

    /// The user as written in the event. The result is valid until the next subscription is saved.
    @inline(__always)
    func user(_ slot: Int32) -> WrittenText { unsafe WrittenText(parts(slot).user) }

    @inline(__always)
    func id(_ slot: Int32) -> WrittenText { unsafe WrittenText(parts(slot).id) }

    @inline(__always)
    private func parts(
        _ slot: Int32
    ) -> (user: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, packed: UnsafeRawBufferPointer) {
        let bytes = unsafe texts[rows[slot].text]
        var start = 0
        let (userCount, idCount) = unsafe (bytes.length(&start), bytes.length(&start))
        let (user, id) = (start + userCount, start + userCount + idCount)
        return unsafe (
            UnsafeRawBufferPointer(rebasing: bytes[start..<user]), UnsafeRawBufferPointer(rebasing: bytes[user..<id]),
            UnsafeRawBufferPointer(rebasing: bytes[id...])
        )
    }

    private func identityHash(_ slot: Int32) -> Int {
        unsafe user(slot).utf8.withUnsafeBytes { user in
            unsafe id(slot).utf8.withUnsafeBytes { unsafe Subscription.Identity.hash(user: user, subscriptionID: $0) }
        }
    }
}

/// A view of a JSON string without its quotes.
@unsafe struct WrittenText {
    let bytes: UnsafeRawBufferPointer

    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

    func isSame(as value: JSONValue) -> Bool {
        if let plain = unsafe value.plain, unsafe !isEscaped { return unsafe bytes.isSame(as: plain) }
        return unsafe utf8.elementsEqual(value.utf8)
    }

    var utf8: [UInt8] {
        guard unsafe isEscaped else { return unsafe Array(bytes) }
        var parser = JSONParser()
        let quoted = unsafe [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
        do {
            return try unsafe quoted.withUnsafeBytes { try unsafe parser.parse($0).utf8 }
        } catch {
            preconditionFailure("a stored text cannot be parsed: \(error)")
        }
    }

    private var isEscaped: Bool { unsafe bytes.contains(UInt8(ascii: "\\")) }
}

extension JSONValue {
    /// The bytes of a string as written, without the quotes.
    fileprivate var inner: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: raw[1..<(raw.count - 1)]) }
}

extension Slab<UInt8> {
    fileprivate func append(_ text: StaticString) {
        unsafe append(contentsOf: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a number with seven bits per byte, the lowest first.
    fileprivate func appendLength(_ length: Int) {
        var rest = length
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }
}

extension UnsafeRawBufferPointer {
    /// Reads a length of seven bits per byte, and moves `index` to the end of the length.
    @inline(__always)
    fileprivate func length(_ index: inout Int) -> Int {
        var (length, shift) = (0, 0)
        while unsafe self[index] >= 0x80 {
            unsafe length |= Int(self[index] & 0x7F) << shift
            shift += 7
            index += 1
        }
        unsafe length |= Int(self[index]) << shift
        index += 1
        return length
    }
}
