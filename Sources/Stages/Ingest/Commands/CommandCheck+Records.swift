import CloudKitModel
import Events
import JSON

/// The commands that change records and zones.
extension CommandCheck {
    private static let originKeys: [Member] = [.user, .device]

    /// - Returns: The array of participants, if the command has one.
    @inline(__always)
    func checkSave(_ command: JSONValue) throws(ModelError) -> JSONValue? {
        let participants = try checkRecord(command, isDeleted: false)
        let change = try change(of: command)
        guard change != .delete else {
            throw ModelError(
                "record.change", at: "change",
                "change is \"delete\", but a record.save only creates or updates: send record.delete instead")
        }
        guard change == .create, command[.before] != nil else { return participants }
        throw ModelError(
            "member.conflict", at: "before",
            "change is \"create\", and a new record had no earlier fields: leave out \"before\"")
    }

    /// - Returns: The array of participants, if the command has one.
    func checkDelete(_ command: JSONValue) throws(ModelError) -> JSONValue? {
        let participants = try checkRecord(command, isDeleted: true)
        if let recordType = command[.recordType] {
            try under(.recordType) { () throws(ModelError) in try NameRule.recordType.check(recordType) }
        }
        guard let change = try change(of: command), change != .delete else { return participants }
        throw ModelError(
            "record.change", at: "change",
            "change is \"\(change.word)\", but a record.delete only deletes: leave change out, or send record.save")
    }

    @inline(__always)
    private func checkRecord(_ command: JSONValue, isDeleted: Bool) throws(ModelError) -> JSONValue? {
        let (scope, participants) = (try database(of: command), command[.participants])
        if let participants { try ParticipantCheck(command: command, scope: scope)(participants) }
        let owner = try participants == nil ? owner(of: command, in: scope) : nil
        try checkOrigin(of: command)
        let json = try command.required(.record)
        try under(.record) { () throws(ModelError) in
            let record = try Record(json, needsType: !isDeleted)
            guard let owner, let zone = record.zoneID else { return }
            try under(.zoneID) { () throws(ModelError) in try zone.expectOwner(owner, in: scope) }
        }
        guard let before = command[.before] else { return participants }
        try under(.before) { () throws(ModelError) in try Fields.check(before) }
        return participants
    }

    /// The `owner` of a command without `participants`. It may be missing only if the command is for the public
    /// database, which no user owns.
    @inline(__always)
    private func owner(of command: JSONValue, in scope: DatabaseScope) throws(ModelError) -> JSONValue? {
        guard let owner = command[.owner] else {
            guard scope == .public else {
                throw ModelError.missing(
                    "owner", "is missing: add the record name of the user whose \(scope.word) database this is")
            }
            return nil
        }
        try under(.owner) { () throws(ModelError) in try NameRule.user.check(owner) }
        return owner
    }

    @inline(__always)
    private func checkOrigin(of command: JSONValue) throws(ModelError) {
        guard let origin = command[.origin] else { return }
        try under(.origin) { () throws(ModelError) in try check(origin: origin) }
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

// MARK: - Several records

extension CommandCheck {
    func checkModify(_ command: JSONValue) throws(ModelError) {
        let scope = try database(of: command)
        let owner = try owner(of: command, in: scope)
        try checkOrigin(of: command)
        let operations = try command.required(.operations)
        try under(.operations) { () throws(ModelError) in
            try OperationCheck(scope: scope, owner: owner)(operations)
        }
    }
}

// MARK: - Zones

extension CommandCheck {
    func checkZone(_ command: JSONValue) throws(ModelError) {
        let scope = try database(of: command)
        guard scope != .public, let owner = try owner(of: command, in: scope) else {
            throw ModelError(
                "zone.database", at: "database",
                "the public database has only its default zone: send database \"private\" or \"shared\"")
        }
        let json = try command.required(.zoneID)
        try under(.zoneID) { () throws(ModelError) in
            let zone = try ZoneID(json)
            guard !zone.isDefault else {
                throw ModelError(
                    "zone.default", at: "zoneName",
                    "\(ZoneID.defaultZone) always exists and cannot be saved or deleted: name another zone")
            }
            try zone.expectOwner(owner, in: scope)
        }
    }
}
