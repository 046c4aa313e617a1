import EventLog
import Events
import JSON
import StageTool

/// The user, device or subscription that a question names.
package struct AskedSubject {
    let user: ExactText?
    let device: ExactText?
    let subscriptionID: ExactText?

    private static let listedMax = 5

    package init(user: String?, device: String?, subscriptionID: String?) {
        self.user = user.map { ExactText($0) }
        self.device = device.map { ExactText($0) }
        self.subscriptionID = subscriptionID.map { ExactText($0) }
    }

    /// Finds the user, and checks that the names are in the log.
    ///
    /// If several users have a device or subscription of this name, takes the owner of the change's database if this
    /// owner is one of them.
    ///
    /// - Throws: ``ToolFailure`` with 66 for an unknown name, with 64 if the question fits several users.
    package func resolve(
        for change: ExplainedChange, in logs: RecordedLogs, _ finder: any EventFinder
    ) throws -> ResolvedSubject {
        let log = logs.log(of: logs.stages[0])
        let devices = try DeviceHistory.all(in: log, user: user, device: device, finder)
        if let device, devices.isEmpty, try !mayPrecede(logs, finder) {
            throw try unknown("device", device, of: user, \.devices, log, finder)
        }
        let subscriptions =
            try device != nil && subscriptionID == nil
            ? []
            : SubscriptionHistory.all(
                in: log, through: .max, user: user, subscriptionID: subscriptionID, finder)
        if let subscriptionID, subscriptions.isEmpty, try !mayPrecede(logs, finder) {
            throw try unknown("subscription", subscriptionID, of: user, \.subscriptions, log, finder)
        }
        let user = try self.user ?? oneUser(devices, subscriptions, change)
        if devices.isEmpty, subscriptions.isEmpty, try !mayPrecede(logs, finder) {
            throw try unknown("device or subscription of user", user, of: nil, \.users, log, finder)
        }
        let all = try device == nil ? DeviceHistory.all(in: log, user: user, device: nil, finder) : devices
        return ResolvedSubject(
            user: user, device: device, subscriptionID: subscriptionID, devices: all.filter { $0.key.user.user == user }
        )
    }

    /// Whether the user's registrations and subscriptions may be older than the first change in the log. True
    /// only if there is a match for the user, because the match proves that the user had a subscription.
    private func mayPrecede(_ logs: RecordedLogs, _ finder: any EventFinder) throws -> Bool {
        guard let user, try logs.lacksFirstChanges(), let matches = logs.existingLog(.matches) else { return false }
        var isMatched = false
        try finder.events(in: matches, from: 1, through: .max, naming: [.receiver(user)]) { event in
            isMatched = event.json[.user]?.equals(user.string) ?? false
            return !isMatched
        }
        return isMatched
    }

    private func oneUser(
        _ devices: [DeviceHistory], _ subscriptions: [SubscriptionHistory], _ change: ExplainedChange
    ) throws -> ExactText {
        let users = Set(device == nil ? subscriptions.map(\.identity.user) : devices.map(\.key.user.user)).sorted()
        if users.count == 1 { return users[0] }
        if change.database != "public", let owner = change.owner, users.contains(owner) { return owner }
        let some = users.prefix(AskedSubject.listedMax).map(\.string).joined(separator: ", ")
        let more = users.count > AskedSubject.listedMax ? ", …" : ""
        throw ToolFailure(
            .usage,
            "\(users.count) users have \(device.map { "a device \($0)" } ?? "a subscription \(subscriptionID ?? "")"); "
                + "choose one with --user (\(some)\(more))")
    }

    private func unknown(
        _ what: String, _ name: ExactText, of user: ExactText?, _ names: KeyPath<KnownNames, Set<ExactText>>,
        _ log: String, _ finder: any EventFinder
    ) throws -> ToolFailure {
        let known = try KnownNames(in: log, user: user, finder)
        let others = known[keyPath: names].subtracting([name]).sorted().map(\.string)
        let near = Spelling.suggestion(for: name.string, among: others)
        let owner = user.map { " of \($0)" } ?? ""
        return ToolFailure(.noInput, "the log contains no \(what) \(name)\(owner)\(near.map { "; \($0)" } ?? "")")
    }
}

/// The subject of a question, after its user was found.
package struct ResolvedSubject {
    let user: ExactText
    let device: ExactText?
    let subscriptionID: ExactText?
    /// The user's devices that the question is about.
    let devices: [DeviceHistory]
}

/// Names in the log, for spelling suggestions.
///
/// With a user, these are all names of this user. Without a user, these are only the names in the first and in the last
/// ``eventsMax`` events, because reading the whole log takes long.
struct KnownNames {
    static let eventsMax: UInt64 = 100_000

    private(set) var users: Set<ExactText> = []
    private(set) var devices: Set<ExactText> = []
    private(set) var subscriptions: Set<ExactText> = []

    init(
        in log: String, user: ExactText?, _ finder: any EventFinder, eventsMax: UInt64 = KnownNames.eventsMax
    ) throws {
        if let user {
            try addNames(1...UInt64.max, of: log, naming: [.user(user)], finder) { $0 == user }
            return
        }
        let summary = try EventLogs.summary(directory: log)
        let (first, last) = (summary.firstSequence, max(summary.lastSequence, summary.firstSequence))
        let start = first...min(first + eventsMax - 1, last)
        try addNames(start, of: log, naming: [], finder) { _ in true }
        guard start.upperBound < last else { return }
        let rest = max(start.upperBound + 1, last - min(eventsMax - 1, last))...last
        try addNames(rest, of: log, naming: [], finder) { _ in true }
    }

    private mutating func addNames(
        _ range: ClosedRange<UInt64>, of log: String, naming searched: [SearchName], _ finder: any EventFinder,
        where isWanted: (ExactText) -> Bool
    ) throws {
        try finder.events(in: log, from: range.lowerBound, through: range.upperBound, naming: searched) { event in
            guard let name = event.json[.user]?.exact, isWanted(name) else { return true }
            users.insert(name)
            if let device = event.json[.device]?.exact { devices.insert(device) }
            if let id = (event.json[.subscription] ?? event.json)[.subscriptionID]?.exact {
                subscriptions.insert(id)
            }
            return true
        }
    }
}
