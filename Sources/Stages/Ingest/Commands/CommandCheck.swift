import CloudKitModel
import Events
import JSON
import PipelineKit
import Predicates
import Time

/// Checks a command member by member. The first rule that the command breaks becomes the error.
struct CommandCheck {
    /// What ingest needs to know about a valid command.
    struct ValidCommand {
        let type: CommandType
        /// Warnings about the query of a `subscription.save`. Other commands have no warnings.
        var warnings: [SavedSubscription.Warning] = []
        /// The array of participants, if a record command has one.
        var participants: JSONValue?
    }

    let allowsSubscriptionsInAnyDatabase: Bool
    let predicates: PredicateReader

    @inline(__always)
    func callAsFunction(_ command: JSONValue) throws(ModelError) -> ValidCommand {
        let type = try CommandType(of: command)
        var valid = ValidCommand(type: type)
        try type.checkKeys(of: command)
        try checkContainer(command)
        switch type {
        case .recordSave: valid.participants = try checkSave(command)
        case .recordDelete: valid.participants = try checkDelete(command)
        case .recordsModify: try checkModify(command)
        case .zoneSave, .zoneDelete: try checkZone(command)
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
        if let request = command[.request] {
            try under(.request) { () throws(ModelError) in try NameRule.request.check(request) }
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
        let found = time.string.map { "\"\($0.printable)\"" } ?? time.kindName
        throw ModelError(
            "time.format",
            "\(found) is not a time in RFC 3339 from 1970 to 9999, such as \"2026-01-31T12:00:00.5Z\"")
    }

    @inline(__always)
    func database(of command: JSONValue) throws(ModelError) -> DatabaseScope {
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
        guard badge.isNumber else { throw badge.kindError("a badge must be a number").under("badge") }
        guard let count = badge.int64, (0...CloudKitLimits.badgeMax).contains(count) else {
            let found = String(decoding: badge.raw.prefix(32), as: UTF8.self)
            throw ModelError(
                "badge.range", at: "badge",
                "a badge must be a whole number from 0 to \(CloudKitLimits.badgeMax), but this is \(found); "
                    + "0 removes the badge from the icon")
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
            let subscription = try Subscription(json, in: scope, allowsAnyScope: allowsSubscriptionsInAnyDatabase)
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
                    code: warning.code, path: "subscription.query.\(warning.position.path)",
                    offset: warning.position.offset,
                    reason: warning.queryReason(in: query))
            }
        } catch {
            throw ModelError(error.code, at: error.queryPath, error.queryReason(in: query))
        }
    }
}
