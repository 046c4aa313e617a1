import CloudKitModel
import Events
import JSON
import PipelineKit
import Predicates
import Time

/// Checks commands and writes the accepted ones to the changes log, the input of all later stages.
///
/// The log gets each command as it came, but without `time`. Ingest completes record commands: it adds `change`, and to
/// a delete the record's last known fields as `before` and its `recordType`, unless the command has them. If a user
/// saves a subscription ID that the user already has in another database, ingest first writes a `subscription.delete`
/// for that database.
package struct IngestStage: Stage {
    package static let kind = "ingest"
    package static let writes: LogKind? = .changes
    package static let isSource = true

    private let check: CommandCheck
    var memory = RecordMemory()
    var databases = SubscriptionDatabases()

    package init(_ settings: IngestSettings, context: StageContext) throws(SettingsError) {
        check = CommandCheck(
            allowsSubscriptionsInAnyDatabase: settings.subscriptionsInAnyDatabase,
            predicates: PredicateReader(settings.predicates == .extended ? .extended : .cloudKit))
    }

    package mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        do {
            append(event.value, try check(event.value), into: &out)
        } catch {
            out.reject(event, Rejection(code: error.code, reason: error.reason, path: error.path))
        }
    }

    package mutating func recall(_ event: borrowing InputEvent, at now: Instant) {
        if event.isOfType(EventName.recordSave) {
            _ = memory.save(event.value, of: event.value[.owner])
        } else if event.isOfType(EventName.recordDelete) {
            _ = memory.delete(event.value, of: event.value[.owner])
        } else if event.isOfType(EventName.subscriptionSave) {
            databases.recall(event.value)
        } else if event.isOfType(EventName.subscriptionDelete) {
            databases.delete(event.value)
        }
    }

    @inline(__always)
    private mutating func append(_ command: JSONValue, _ valid: CommandCheck.ValidCommand, into out: inout Outbox) {
        switch valid.type {
        case .recordSave, .recordDelete:
            appendChange(command, isDelete: valid.type == .recordDelete, seenBy: valid.participants, into: &out)
        case .subscriptionSave: appendSubscription(command, valid.warnings, into: &out)
        case .subscriptionDelete:
            databases.delete(command)
            out.append { CommandWriter.write(command, into: &$0) }
        case .deviceRegister, .deviceUnregister, .badgeSet, .pushRedrive:
            out.append { CommandWriter.write(command, into: &$0) }
        }
    }

    /// Appends one event, or one for the shared database of each participant.
    @inline(__always)
    private mutating func appendChange(
        _ command: JSONValue, isDelete: Bool, seenBy participants: JSONValue?, into out: inout Outbox
    ) {
        guard let participants else { return appendChange(command, isDelete: isDelete, for: nil, into: &out) }
        for participant in participants.elements {
            appendChange(command, isDelete: isDelete, for: participant, into: &out)
        }
    }

    /// The command's own `change` or `before` counts more than the memory, which may have started after the record was
    /// saved.
    @inline(__always)
    private mutating func appendChange(
        _ command: JSONValue, isDelete: Bool, for participant: JSONValue?, into out: inout Outbox
    ) {
        let owner = participant ?? command[.owner]
        if isDelete {
            let deleted = memory.delete(command, of: owner)
            return out.append {
                CommandWriter.write(command, for: participant, change: .delete, deleted: deleted, into: &$0)
            }
        }
        let wasKnown = memory.save(command, of: owner)
        let given = command[.change]
        let isUpdate = given.map { $0.equals("update") } ?? (wasKnown || command[.before] != nil)
        out.append { CommandWriter.write(command, for: participant, change: isUpdate ? .update : .create, into: &$0) }
    }

    /// A subscription ID is unique for a user in a container (CKSubscription), so the newest save wins.
    private mutating func appendSubscription(
        _ command: JSONValue, _ warnings: [SavedSubscription.Warning], into out: inout Outbox
    ) {
        let subscriptionID = command[.subscription]?[.subscriptionID]
        let former = databases.save(command)
        for place in former {
            out.append { CommandWriter.write(deleteOf: subscriptionID, in: place.database, for: command, into: &$0) }
        }
        out.append { CommandWriter.write(command, into: &$0) }
        out.saved(
            SavedSubscription(
                subscriptionID: subscriptionID?.string ?? "",
                warnings: warnings + former.map { SubscriptionDatabases.warning(moved: subscriptionID, from: $0) }))
    }
}
