import EventLog
import Events
import JSON
import PipelineKit
import Time

/// The registrations and unregistrations of one device.
package struct DeviceHistory {
    package struct Entry {
        package let sequence: UInt64
        let now: Instant
        /// Nil for an unregistration.
        package let address: DeviceAddress?
    }

    let key: DeviceKey
    package private(set) var entries: [Entry] = []

    var name: ExactText { key.device }
    var hasRegistration: Bool { entries.contains { $0.address != nil } }

    /// The devices with the given user and name, in the order of their first events. Nil stands for any user or any
    /// name.
    package static func all(
        in log: String, user: ExactText?, device: ExactText?, _ finder: any EventFinder
    ) throws -> [DeviceHistory] {
        var histories: [DeviceHistory] = []
        let names = [user.map(SearchName.user), device.map(SearchName.device)].compactMap { $0 }
        try finder.events(in: log, from: 1, through: .max, naming: names) { event in
            guard let read = DeviceEvent(event), user ?? read.key.user.user == read.key.user.user,
                device ?? read.key.device == read.key.device
            else { return true }
            if let index = histories.firstIndex(where: { $0.key == read.key }) {
                histories[index].entries.append(read.entry)
            } else {
                histories.append(DeviceHistory(key: read.key, entries: [read.entry]))
            }
            return true
        }
        return histories
    }

    /// The device's state at the time of a push that has no outcome for the device.
    ///
    /// Some registrations may have the same time as the push. Those before the push's change in the log came before the
    /// push. The others came after the push: if they had come before it, the device would have an outcome.
    func state(
        atPush moment: Instant, of change: UInt64, in log: String, _ finder: any EventFinder
    ) throws -> Explanation {
        let state = try state(at: moment, in: log, finder)
        let last = entries.last { $0.now <= moment }?.sequence ?? 0
        guard state.code == .deviceRegistered, last > change else { return state }
        return try self.state(at: Instant(microseconds: moment.microseconds - 1), in: log, finder)
    }

    private func state(at moment: Instant, in log: String, _ finder: any EventFinder) throws -> Explanation {
        guard let last = entries.last(where: { $0.now <= moment }) else {
            guard let first = entries.first(where: { $0.address != nil })?.sequence else {
                return try neverRegistered(in: log)
            }
            return explanation(.deviceNotRegisteredYet, "\(name) was first registered at change \(first)", first)
        }
        guard let address = last.address else {
            return explanation(
                .deviceUnregistered, "\(name) was unregistered at change \(last.sequence)", last.sequence)
        }
        if let newer = try replacement(of: address, after: last.sequence, through: moment, in: log, finder) {
            return explanation(
                .deviceReplaced,
                "\(name)'s token moved to \(newer.key.device) of \(newer.key.user.user) at change \(newer.entry.sequence)",
                newer.entry.sequence)
        }
        return explanation(.deviceRegistered, "\(name) was registered at change \(last.sequence)", last.sequence)
    }

    /// The log contains unregistrations of the device, but no registration.
    private func neverRegistered(in log: String) throws -> Explanation {
        let isTrimmed = try EventLogs.summary(directory: log).firstSequence > 1
        let text = isTrimmed ? "was registered before the first change in the log, or never" : "was never registered"
        return explanation(.deviceNone, "\(name) \(text)", entries.first?.sequence ?? 0)
    }

    private func replacement(
        of address: DeviceAddress, after sequence: UInt64, through moment: Instant, in log: String,
        _ finder: any EventFinder
    ) throws -> DeviceEvent? {
        var found: DeviceEvent?
        try finder.events(in: log, from: sequence + 1, through: .max, naming: [.token(address.token)]) { event in
            guard event.now <= moment else { return false }
            guard let other = DeviceEvent(event), other.entry.address == address, other.key != key else { return true }
            found = other
            return false
        }
        return found
    }

    private func explanation(_ code: ExplanationCode, _ text: String, _ sequence: UInt64) -> Explanation {
        Explanation(
            .outcomes, code, text,
            [
                .init("device", name.string), .init(Member.user.description, key.user.user.string),
                .init("change", sequence),
            ])
    }
}

private struct DeviceEvent {
    let key: DeviceKey
    let entry: DeviceHistory.Entry

    init?(_ event: LogScan.Event) {
        let isRegistration = event.json[.type]?.equals(EventName.deviceRegister) ?? false
        guard isRegistration || event.json[.type]?.equals(EventName.deviceUnregister) ?? false,
            let key = DeviceKey(event.json)
        else { return nil }
        self.key = key
        entry = DeviceHistory.Entry(
            sequence: event.sequence, now: event.now, address: isRegistration ? DeviceAddress(event.json) : nil)
    }
}
