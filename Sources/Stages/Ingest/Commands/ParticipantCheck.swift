import CloudKitModel
import Events
import JSON

/// Checks the `participants` of a record command: the command changes the record in the shared database of each
/// participant.
struct ParticipantCheck {
    let command: JSONValue
    let scope: DatabaseScope

    func callAsFunction(_ participants: JSONValue) throws(ModelError) {
        guard scope == .shared else {
            throw conflict("only a shared database has participants: leave them out, or send database \"shared\"")
        }
        guard command[.owner] == nil else {
            throw conflict("owner is for one user, and participants is for several: leave out one of the two members")
        }
        let zoneOwner = try zoneOwner()
        try under(.participants) { () throws(ModelError) in try check(participants, zoneOwner) }
    }

    private func conflict(_ reason: String) -> ModelError { ModelError("member.conflict", at: "participants", reason) }

    /// All participants see the same record, so the command must name the owner of the record's zone.
    private func zoneOwner() throws(ModelError) -> String {
        let zone = command[.record]?[.zoneID]
        guard let owner = (zone?[.ownerRecordName] ?? zone?["ownerName"])?.string else {
            throw ModelError(
                "member.missing", at: "record.zoneID.ownerRecordName",
                "ownerRecordName says who shares the zone with the participants: add it")
        }
        return owner
    }

    private func check(_ participants: JSONValue, _ zoneOwner: String) throws(ModelError) {
        try participants.expectArray(.participants)
        let allowed = 1...CloudKitLimits.participantsMax
        guard allowed.contains(participants.count) else {
            throw ModelError(
                "participants.count",
                "a command has 1 to \(CloudKitLimits.participantsMax) participants, not \(participants.count): add "
                    + "one, or send the rest in a second command")
        }
        var (names, index) = (Set([zoneOwner]), 0)
        for participant in participants.elements {
            try under(element: index) { () throws(ModelError) in try check(participant, &names, zoneOwner) }
            index += 1
        }
    }

    private func check(_ participant: JSONValue, _ names: inout Set<String>, _ zoneOwner: String) throws(ModelError) {
        try NameRule.user.check(participant)
        let name = participant.string ?? ""
        guard !names.insert(name).inserted else { return }
        throw name == zoneOwner
            ? ModelError(
                "zone.owner",
                "\(zoneOwner) owns the zone and sees it in the private database: take \(zoneOwner) out, and send a "
                    + "second command with database \"private\""
            )
            : ModelError("participants.repeated", "\(name) is named twice: name each participant once")
    }
}
