import Events
import JSON
import PipelineKit
import Time

/// The undelivered pushes in the log that a deliver stage reads, with the state of their devices and the newer pushes
/// that may replace them.
struct PushHistory {
    private struct Registration {
        let address: DeviceAddress
        let sequence: UInt64
    }

    /// A place on the screens of a user's devices that shows only one push: a newer push replaces the older one.
    private enum Slot: Hashable {
        /// The notification with a collapse ID.
        case collapse(UserKey, ExactText)
        /// The number on the app's icon.
        case badge(UserKey)
    }

    /// A push that fills a slot if the device gets it.
    struct SlotUse {
        let push: UInt64
        let order: UInt64
        let slot: Int
    }

    /// A letter's device without its container. An outcome names no container; only the push does.
    private struct DeviceName: Hashable {
        let user, device: ExactText
    }

    private let names: Set<DeviceName>
    private var devices: [DeviceKey: Registration] = [:]
    /// The states of devices that are not registered any more.
    private var ends: [DeviceKey: DeviceState] = [:]
    private var holders: [DeviceAddress: DeviceKey] = [:]
    private var users: Set<UserKey> = []
    /// The slots' numbers.
    private var slots: [Slot: Int] = [:]
    private var slotUses: [SlotUse] = []
    /// The sequences of original pushes, by the sequences of their redrives.
    private var originals: [UInt64: UInt64] = [:]
    /// The letters' pushes, by the letters' indices.
    private var found: [Int: (push: UndeliveredPush, device: DeviceKey?)] = [:]

    init(_ letters: [DeadLetter], in log: String, _ progress: (UInt64) -> Void) throws {
        names = Set(letters.compactMap(Self.name))
        let wanted = Dictionary(grouping: letters.indices, by: { letters[$0].source.sequence })
        try LogScan.events(in: log, from: .epoch) { event in
            progress(UInt64(event.line.count))
            read(event, wanted[event.sequence] ?? [], letters)
        }
    }

    private static func name(_ letter: DeadLetter) -> DeviceName? {
        guard let user = letter.user, let device = letter.device else { return nil }
        return DeviceName(user: user, device: device)
    }

    // MARK: Reading

    private mutating func read(_ event: LogScan.Event, _ wanted: [Int], _ letters: [DeadLetter]) {
        let json = event.json
        switch json[.type]?.string {
        case "push": readPush(json, event.sequence, order: event.sequence, wanted, letters)
        case "push.redrive":
            guard let push = json[.push] else { return }
            let former = json[.redriveOf]?[.sequence]?.sequence ?? event.sequence
            let order = originals[former] ?? former
            originals[event.sequence] = order
            readPush(push, event.sequence, order: order, wanted, letters)
        case "device.register": register(json, event.sequence)
        case "device.unregister": if let key = key(of: json) { end(key, .unregistered) }
        default: return
        }
    }

    private mutating func readPush(
        _ json: JSONValue, _ sequence: UInt64, order: UInt64, _ wanted: [Int], _ letters: [DeadLetter]
    ) {
        guard var user = UserKey(json) else { return }
        // Saves memory: the keys of a user's letters share one copy of the strings.
        if !wanted.isEmpty { user = users.insert(user).memberAfterInsert }
        // Only pushes after the user's first dead letter can replace a letter's push.
        guard users.contains(user) else { return }
        let headers = json[.headers]
        var push = UndeliveredPush(expiresAt: headers.flatMap(Self.expiration), order: order)
        if let id = headers?[.apnsCollapseID]?.exact, !id.string.isEmpty {
            push.collapseSlot = recordUse(of: .collapse(user, id), by: sequence, order)
        }
        if let aps = json[.payload]?["aps"], aps[.badge] != nil {
            push.badgeSlot = recordUse(of: .badge(user), by: sequence, order)
            push.hasOnlyBadge = aps.count == 1
        }
        for index in wanted {
            let device = letters[index].device.map { DeviceKey(user: user, device: $0) }
            push.address = device.flatMap { devices[$0]?.address }
            found[index] = (push, device)
        }
    }

    /// Returns the number of the slot.
    private mutating func recordUse(of slot: Slot, by push: UInt64, _ order: UInt64) -> Int {
        let number = slots[slot, default: slots.count]
        slots[slot] = number
        slotUses.append(SlotUse(push: push, order: order, slot: number))
        return number
    }

    private static func expiration(_ headers: JSONValue) -> Instant? {
        guard let text = headers[.apnsExpiration]?.string, let seconds = Int64(text), seconds > 0,
            seconds < Instant.distantFuture.microseconds / 1_000_000
        else { return nil }
        return Instant(microseconds: seconds * 1_000_000)
    }

    private mutating func register(_ json: JSONValue, _ sequence: UInt64) {
        guard let address = DeviceAddress(json) else { return }
        let key = key(of: json)
        if let holder = holders[address], holder != key { end(holder, .replaced) }
        guard let key else { return }
        if let former = devices[key] { holders[former.address] = nil }
        (devices[key], holders[address], ends[key]) = (Registration(address: address, sequence: sequence), key, nil)
    }

    /// The device that an event is about; nil if no letter names this device.
    private func key(of json: JSONValue) -> DeviceKey? {
        guard let key = DeviceKey(json), names.contains(DeviceName(user: key.user.user, device: key.device)) else {
            return nil
        }
        return key
    }

    private mutating func end(_ key: DeviceKey, _ state: DeviceState) {
        if let registered = devices.removeValue(forKey: key) { holders[registered.address] = nil }
        ends[key] = state
    }

    // MARK: Results

    /// Records that deliver retired a device.
    ///
    /// - Parameter sequence: The last event of this log that deliver had read by then. A later registration stays
    ///   valid.
    mutating func retire(_ device: DeviceKey, at sequence: UInt64) {
        guard ends[device] == nil, devices[device]?.sequence ?? 0 <= sequence else { return }
        ends[device] = .retired
    }

    /// The slots that a push fills.
    func slotUses(of push: UInt64) -> ArraySlice<SlotUse> {
        var (low, high) = (0, slotUses.count)
        while low < high {
            let middle = (low + high) / 2
            if slotUses[middle].push < push { low = middle + 1 } else { high = middle }
        }
        return slotUses[low...].prefix { $0.push == push }
    }

    /// Adds to a letter what this log contains: the push, the device's state, and the app's container, environment and
    /// topic.
    func complete(_ letter: inout DeadLetter, _ index: Int) {
        guard let (found, device) = found[index] else { return }
        var push = found
        if let device {
            push.state = state(of: device, comparedWith: push.address)
            (letter.container, letter.environment) = (device.user.container, device.user.environment)
        }
        letter.topic = push.address?.topic
        letter.content = .push(push)
    }

    private func state(of device: DeviceKey, comparedWith address: DeviceAddress?) -> DeviceState {
        if let end = ends[device] { return end }
        guard let address, let current = devices[device]?.address else { return .registered }
        return current == address ? .registered : .registeredAnew
    }
}
