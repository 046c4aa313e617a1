import Events
import JSON
import PipelineKit
import Time

/// A user's device as the changes log tells of it.
package struct DeviceHistory {
    package struct Entry {
        package let sequence: UInt64
        let now: Instant
        package let isRegistration: Bool
        /// What no two devices hold at a time; empty for an unregistration.
        package let address: [ExactText]
        package let token: ExactText
    }

    let container: ExactText
    let environment: ExactText
    let user: ExactText
    let name: ExactText
    package private(set) var entries: [Entry] = []

    /// All devices of a user or under a name, by the sequence of their first event.
    package static func all(
        in log: String, user: ExactText?, device: ExactText?, _ finder: any EventFinder
    ) throws -> [DeviceHistory] {
        var histories: [DeviceHistory] = []
        let names = [user.map(SoughtName.user), device.map(SoughtName.device)].compactMap { $0 }
        try finder.events(in: log, from: 1, through: .max, naming: names) { event in
            guard let told = DeviceEvent(event), user ?? told.user == told.user, device ?? told.device == told.device
            else { return true }
            if let index = histories.firstIndex(where: { $0.isOf(told) }) {
                histories[index].entries.append(told.entry)
            } else {
                histories.append(
                    DeviceHistory(
                        container: told.container, environment: told.environment, user: told.user, name: told.device,
                        entries: [told.entry]))
            }
            return true
        }
        return histories
    }

    private func isOf(_ event: DeviceEvent) -> Bool {
        (container, environment, user, name) == (event.container, event.environment, event.user, event.device)
    }

    /// What the device was when a push passed that left no outcome for it, as far as its own events tell and those that
    /// took its token.
    ///
    /// A registration at the very moment of the push came behind it, or there would be an outcome.
    func state(atPush moment: Instant, in log: String, _ finder: any EventFinder) throws -> Explanation {
        let state = try state(at: moment, in: log, finder)
        guard state.code == .deviceRegistered else { return state }
        return try self.state(at: Instant(microseconds: moment.microseconds - 1), in: log, finder)
    }

    private func state(at moment: Instant, in log: String, _ finder: any EventFinder) throws -> Explanation {
        guard let last = entries.last(where: { $0.now <= moment }) else { return notYet }
        guard last.isRegistration else {
            return explanation(
                .deviceUnregistered, "\(name) was unregistered at change \(last.sequence)", last.sequence)
        }
        if let thief = try replacement(of: last, through: moment, in: log, finder) {
            return explanation(
                .deviceReplaced,
                "\(name)'s token moved to \(thief.device) of \(thief.user) at change \(thief.entry.sequence)",
                thief.entry.sequence)
        }
        return explanation(.deviceRegistered, "\(name) was registered at change \(last.sequence)", last.sequence)
    }

    private var notYet: Explanation {
        let first = entries.first { $0.isRegistration }?.sequence ?? 0
        return explanation(.deviceNotRegisteredYet, "\(name) was first registered at change \(first)", first)
    }

    private func replacement(
        of registration: Entry, through moment: Instant, in log: String, _ finder: any EventFinder
    ) throws -> DeviceEvent? {
        var found: DeviceEvent?
        try finder.events(in: log, from: registration.sequence + 1, through: .max, naming: [.token(registration.token)])
        {
            event in
            guard event.now <= moment else { return false }
            guard let told = DeviceEvent(event), told.entry.isRegistration,
                told.entry.address == registration.address, !isOf(told)
            else { return true }
            found = told
            return false
        }
        return found
    }

    private func explanation(_ code: ExplanationCode, _ text: String, _ sequence: UInt64) -> Explanation {
        Explanation(
            .outcomes, code, text,
            [.init("device", name.string), .init(Member.user.description, user.string), .init("change", sequence)])
    }
}

/// A `device.*` event, read.
struct DeviceEvent {
    let container: ExactText
    let environment: ExactText
    let user: ExactText
    let device: ExactText
    let entry: DeviceHistory.Entry

    init?(_ event: LogScan.Event) {
        let isRegistration = event.json[.type]?.equals(EventName.deviceRegister) ?? false
        guard isRegistration || event.json[.type]?.equals(EventName.deviceUnregister) ?? false,
            let container = event.json[.container]?.exact, let environment = event.json[.environment]?.exact,
            let user = event.json[.user]?.exact, let device = event.json[.device]?.exact
        else { return nil }
        (self.container, self.environment, self.user, self.device) = (container, environment, user, device)
        let token = event.json[.token]?.exact ?? ""
        let address = [container, environment] + ["transport", "topic"].map { event.json.member($0)?.exact ?? "" }
        entry = DeviceHistory.Entry(
            sequence: event.sequence, now: event.now, isRegistration: isRegistration,
            address: isRegistration ? address + [token] : [], token: token)
    }
}
