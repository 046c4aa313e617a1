import Events
import JSON
import PipelineKit
import Time

/// What the log that deliver reads tells of pushes that came to nothing: what they were, how their devices stand by now,
/// and which newer pushes say what they said.
struct PushHistory {
    private struct Registered {
        let address: DeviceAddress
        let sequence: UInt64
    }

    /// What a newer push of a user takes the place of.
    private enum Word: Hashable {
        /// All that an older push of the collapse ID says.
        case collapse(UserKey, ExactText)
        /// The number on the app's icon.
        case badge(UserKey)
    }

    /// A push that has taken the place of older ones, if it got through.
    struct Newer {
        let push: UInt64
        /// Where its words stood first.
        let order: UInt64
        /// The number of what it takes the place of.
        let word: Int
    }

    /// By name: the log that a letter's device is in is not known before its push was read.
    private struct Name: Hashable {
        let user, device: ExactText
    }

    private let names: Set<Name>
    private var devices: [DeviceKey: Registered] = [:]
    private var ends: [DeviceKey: DeviceState] = [:]
    private var holders: [DeviceAddress: DeviceKey] = [:]
    private var users: Set<UserKey> = []
    private var words: [Word: Int] = [:]
    /// In the order of the log.
    private(set) var newer: [Newer] = []
    /// What is known of each letter's push, by the letter's place among those that were given.
    private var found: [Int: (push: PastPush, device: DeviceKey?)] = [:]

    /// - Parameter letters: Of one deliver stage.
    init(_ letters: [Letter], in log: String, _ progress: (UInt64) -> Void) throws {
        names = Set(letters.compactMap(Self.name))
        let wanted = Dictionary(grouping: letters.indices, by: { letters[$0].subject.sequence })
        try LogScan.events(in: log, from: .epoch) { event in
            progress(UInt64(event.line.count))
            try take(event, wanted[event.sequence] ?? [], letters)
        }
    }

    private static func name(_ letter: Letter) -> Name? {
        guard let user = letter.user, let device = letter.device else { return nil }
        return Name(user: user, device: device)
    }

    // MARK: Reading

    private mutating func take(_ event: LogScan.Event, _ wanted: [Int], _ letters: [Letter]) throws {
        let json = event.json
        switch json[.type]?.string {
        case "push": takePush(json, event.sequence, order: event.sequence, wanted, letters)
        case "push.redrive":
            guard let push = json[.push] else { return }
            let order = json[.redriveOf]?[.sequence]?.sequence ?? event.sequence
            takePush(push, event.sequence, order: order, wanted, letters)
        case "device.register": register(json, event.sequence)
        case "device.unregister": if let key = key(of: json) { end(key, .unregistered) }
        default: return
        }
    }

    private mutating func takePush(
        _ json: JSONValue, _ sequence: UInt64, order: UInt64, _ wanted: [Int], _ letters: [Letter]
    ) {
        guard var user = UserKey(json) else { return }
        // Of equal texts one is kept.
        if !wanted.isEmpty { user = users.insert(user).memberAfterInsert }
        guard users.contains(user) else { return }
        let headers = json[.headers]
        var push = PastPush(expiresAt: headers.flatMap(Self.expiration), order: order)
        if let id = headers?[.apnsCollapseID]?.exact, !id.string.isEmpty {
            push.collapse = note(.collapse(user, id), sequence, order)
        }
        if let aps = json[.payload]?["aps"], aps[.badge] != nil {
            push.badge = note(.badge(user), sequence, order)
            push.isBadgeAlone = aps.count == 1
        }
        for index in wanted {
            let device = letters[index].device.map { DeviceKey(user: user, device: $0) }
            push.address = device.flatMap { devices[$0]?.address }
            found[index] = (push, device)
        }
    }

    private mutating func note(_ word: Word, _ push: UInt64, _ order: UInt64) -> Int {
        let number = words[word, default: words.count]
        words[word] = number
        newer.append(Newer(push: push, order: order, word: number))
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
        (devices[key], holders[address], ends[key]) = (Registered(address: address, sequence: sequence), key, nil)
    }

    /// Nil for devices that no letter names.
    private func key(of json: JSONValue) -> DeviceKey? {
        guard let user = UserKey(json), let device = json[.device]?.exact,
            names.contains(Name(user: user.user, device: device))
        else { return nil }
        return DeviceKey(user: user, device: device)
    }

    private mutating func end(_ key: DeviceKey, _ state: DeviceState) {
        if let registered = devices.removeValue(forKey: key) { holders[registered.address] = nil }
        ends[key] = state
    }

    // MARK: Answers

    /// Takes note that deliver took a device out of its registry when it had come so far in the log.
    mutating func retire(_ device: DeviceKey, at sequence: UInt64) {
        guard ends[device] == nil, devices[device]?.sequence ?? 0 <= sequence else { return }
        ends[device] = .retired
    }

    /// What a push by its sequence could take the place of.
    func newer(_ push: UInt64) -> ArraySlice<Newer> {
        var (low, high) = (0, newer.count)
        while low < high {
            let middle = (low + high) / 2
            if newer[middle].push < push { low = middle + 1 } else { high = middle }
        }
        return newer[low...].prefix { $0.push == push }
    }

    /// Adds what is known of a letter's push.
    ///
    /// - Parameter index: Its place among those that were given.
    func complete(_ letter: inout Letter, _ index: Int) {
        guard let (found, device) = found[index] else { return }
        var push = found
        if let device {
            push.state = state(of: device, since: push.address)
            (letter.container, letter.environment) = (device.user.container, device.user.environment)
        }
        letter.topic = push.address?.topic
        letter.content = .push(push)
    }

    private func state(of device: DeviceKey, since address: DeviceAddress?) -> DeviceState {
        if let end = ends[device] { return end }
        guard let address, let present = devices[device]?.address else { return .registered }
        return present == address ? .registered : .registeredAnew
    }
}
