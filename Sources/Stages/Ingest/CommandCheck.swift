import CloudKitModel
import Events
import JSON
import PipelineKit
import Predicates
import Time

/// Checks a command member by member; the first rule that it breaks becomes the error.
struct CommandCheck {
    /// What ingest needs to know about a valid command.
    struct ValidCommand {
        let type: CommandType
        /// Empty for every command except `subscription.save`.
        var warnings: [SavedSubscription.Warning] = []
        /// The array of participants, if a record command has one.
        var participants: JSONValue?
    }

    let allowsSubscriptionsInAnyDatabase: Bool
    let predicates: PredicateReader

    private static let originKeys: [Member] = [.user, .device]

    @inline(__always)
    func callAsFunction(_ command: JSONValue) throws(ModelError) -> ValidCommand {
        let type = try CommandType(of: command)
        var valid = ValidCommand(type: type)
        try type.checkKeys(of: command)
        try checkContainer(command)
        switch type {
        case .recordSave: valid.participants = try checkSave(command)
        case .recordDelete: valid.participants = try checkDelete(command)
        case .subscriptionSave: valid.warnings = try checkSubscription(command)
        case .subscriptionDelete: try checkSubscriptionID(command)
        case .deviceRegister: try checkDevice(command)
        case .deviceUnregister: try checkDeviceName(command)
        case .badgeSet: try checkBadge(command)
        case .pushRedrive:
            try checkDeviceName(command)
            try RedriveCheck(command: command)()
        }
        if let time = command[.time] {
            try under(.time) { () throws(ModelError) in try check(time: time) }
        }
        return valid
    }

    @inline(__always)
    private func checkContainer(_ command: JSONValue) throws(ModelError) {
        let (container, environment) = (try command.required(.container), try command.required(.environment))
        try under(.container) { () throws(ModelError) in try Container.check(container) }
        try under(.environment) { () throws(ModelError) in _ = try ContainerEnvironment(environment) }
    }

    private func check(time: JSONValue) throws(ModelError) {
        guard time.withUTF8({ Instant(rfc3339: $0) != nil }) != true else { return }
        throw ModelError(
            "time.format", "a time is RFC 3339 text from 1970 to 9999, such as \"2026-01-31T12:00:00.5Z\"")
    }

    @inline(__always)
    private func database(of command: JSONValue) throws(ModelError) -> DatabaseScope {
        let word = try command.required(.database)
        return try under(.database) { () throws(ModelError) in try DatabaseScope(word) }
    }
}

// MARK: - Devices and badges

extension CommandCheck {
    private func checkDeviceName(_ command: JSONValue) throws(ModelError) {
        try NameRule.user.check(.user, of: command)
        try NameRule.device.check(.device, of: command)
    }

    private func checkDevice(_ command: JSONValue) throws(ModelError) {
        try checkDeviceName(command)
        try NameRule.transport.check(.transport, of: command)
        try NameRule.token.check(.token, of: command)
        try NameRule.topic.check(.topic, of: command)
    }

    private func checkBadge(_ command: JSONValue) throws(ModelError) {
        try NameRule.user.check(.user, of: command)
        if let topic = command[.topic] {
            try under(.topic) { () throws(ModelError) in try NameRule.topic.check(topic) }
        }
        let badge = try command.required(.badge)
        guard badge.isNumber else { throw badge.kindError("a badge is a number").under("badge") }
        guard let count = badge.int64, (0...CloudKitLimits.badgeMax).contains(count) else {
            throw ModelError(
                "badge.range", at: "badge",
                "a badge is a whole number from 0 to \(CloudKitLimits.badgeMax); 0 removes it from the icon")
        }
    }
}

// MARK: - Subscriptions

extension CommandCheck {
    private func checkSubscriptionID(_ command: JSONValue) throws(ModelError) {
        _ = try database(of: command)
        try NameRule.user.check(.user, of: command)
        try NameRule.subscriptionID.check(.subscriptionID, of: command)
    }

    private func checkSubscription(_ command: JSONValue) throws(ModelError) -> [SavedSubscription.Warning] {
        let scope = try database(of: command)
        try NameRule.user.check(.user, of: command)
        let (user, json) = (try command.required(.user), try command.required(.subscription))
        return try under(.subscription) { () throws(ModelError) in
            let subscription = try Subscription(json, in: scope, anyScope: allowsSubscriptionsInAnyDatabase)
            if let zone = subscription.zoneID {
                try under(.zoneID) { () throws(ModelError) in try zone.expectOwner(user, in: scope) }
            }
            guard let query = subscription.query else { return [] }
            return try under(.query) { () throws(ModelError) in try check(query: query) }
        }
    }

    private func check(query: JSONValue) throws(ModelError) -> [SavedSubscription.Warning] {
        do throws(PredicateError) {
            return try predicates.read(query: query).warnings.map { warning in
                SavedSubscription.Warning(
                    code: warning.code, path: "subscription.query.\(warning.place.path)", offset: warning.place.offset,
                    reason: warning.queryReason(in: query))
            }
        } catch {
            throw ModelError(error.code, at: error.queryPath, error.queryReason(in: query))
        }
    }
}

// MARK: - Records

extension CommandCheck {
    @inline(__always)
    private func checkSave(_ command: JSONValue) throws(ModelError) -> JSONValue? {
        let participants = try checkRecord(command, isDeleted: false)
        let change = try change(of: command)
        guard change != .delete else {
            throw ModelError(
                "record.change", at: "change", "record.save creates or updates: send record.delete instead")
        }
        guard change == .create, command[.before] != nil else { return participants }
        throw ModelError("member.conflict", at: "before", "a new record had no fields before: leave before out")
    }

    private func checkDelete(_ command: JSONValue) throws(ModelError) -> JSONValue? {
        let participants = try checkRecord(command, isDeleted: true)
        if let recordType = command[.recordType] {
            try under(.recordType) { () throws(ModelError) in try NameRule.recordType.check(recordType) }
        }
        guard let change = try change(of: command), change != .delete else { return participants }
        throw ModelError("record.change", at: "change", "record.delete deletes: leave change out or send record.save")
    }

    @inline(__always)
    private func checkRecord(_ command: JSONValue, isDeleted: Bool) throws(ModelError) -> JSONValue? {
        let (scope, participants) = (try database(of: command), command[.participants])
        if let participants { try ParticipantCheck(command: command, scope: scope)(participants) }
        let owner = try participants == nil ? owner(of: command, in: scope) : nil
        if let origin = command[.origin] {
            try under(.origin) { () throws(ModelError) in try check(origin: origin) }
        }
        let json = try command.required(.record)
        try under(.record) { () throws(ModelError) in
            let record = try Record(json, isDeleted: isDeleted)
            guard let owner, let zone = record.zoneID else { return }
            try under(.zoneID) { () throws(ModelError) in try zone.expectOwner(owner, in: scope) }
        }
        guard let before = command[.before] else { return participants }
        try under(.before) { () throws(ModelError) in try Fields.check(before) }
        return participants
    }

    /// The owner of the command's database; nil for the public database, which no user owns.
    @inline(__always)
    private func owner(of command: JSONValue, in scope: DatabaseScope) throws(ModelError) -> JSONValue? {
        guard let owner = command[.owner] else {
            guard scope == .public else {
                throw ModelError.missing("owner", "says whose \(scope.word) database it is: add the user's record name")
            }
            return nil
        }
        try under(.owner) { () throws(ModelError) in try NameRule.user.check(owner) }
        return owner
    }

    @inline(__always)
    private func check(origin: JSONValue) throws(ModelError) {
        try origin.expectObject("an origin")
        try origin.expectKeys(CommandCheck.originKeys, of: "an origin")
        try NameRule.user.check(.user, of: origin)
        guard let device = origin[.device] else { return }
        try under(.device) { () throws(ModelError) in try NameRule.device.check(device) }
    }

    @inline(__always)
    private func change(of command: JSONValue) throws(ModelError) -> RecordChange? {
        guard let word = command[.change] else { return nil }
        return try under(.change) { () throws(ModelError) in try RecordChange(word) }
    }
}
