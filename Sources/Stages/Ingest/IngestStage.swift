import CloudKitModel
import Events
import JSON
import PipelineKit
import Predicates
import Time

/// The door: checks each command and writes what is accepted to the log that every later state is a function of.
///
/// A command goes to the log as it came, without `time` (its batch carries it). A record's command ends with what ingest
/// found out: `change`, and for a delete the fields last seen as `before`, and a `recordType` that it lacks. Before a
/// `subscription.save` stands a `subscription.delete` for each other database where the user had that ID.
package struct IngestStage: Stage {
    package static let kind = "ingest"
    package static let writes: LogKind? = .changes
    package static let isSource = true

    private let check: CommandCheck
    var memory = RecordMemory()
    var homes = SubscriptionHomes()

    package init(_ settings: IngestSettings, context: StageContext) throws(SettingsError) {
        check = CommandCheck(
            takesAnySubscription: settings.subscriptionsInAnyDatabase,
            predicates: PredicateReader(settings.predicates == .extended ? .extended : .cloudKit))
    }

    package mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        do {
            let passed = try check(event.value)
            append(event.value, passed, into: &out)
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
            homes.recall(event.value)
        } else if event.isOfType(EventName.subscriptionDelete) {
            homes.delete(event.value)
        }
    }

    @inline(__always)
    private mutating func append(_ command: JSONValue, _ passed: CommandCheck.Passed, into out: inout Outbox) {
        switch passed.type {
        case .recordSave: appendSave(command, seenBy: passed.participants, into: &out)
        case .recordDelete: appendDelete(command, seenBy: passed.participants, into: &out)
        case .subscriptionSave: appendSubscription(command, passed.warnings, into: &out)
        case .subscriptionDelete:
            homes.delete(command)
            out.append { CommandWriter.write(command, into: &$0) }
        case .deviceRegister, .deviceUnregister, .badgeSet, .pushRedrive:
            out.append { CommandWriter.write(command, into: &$0) }
        }
    }

    /// A change of a shared record is an event for each participant, in whose shared database it is.
    @inline(__always)
    private mutating func appendSave(
        _ command: JSONValue, seenBy participants: JSONValue?, into out: inout Outbox
    ) {
        guard let participants else {
            return appendSave(command, of: command[.owner], for: nil, into: &out)
        }
        for participant in participants.elements {
            appendSave(command, of: participant, for: participant, into: &out)
        }
    }

    private mutating func appendDelete(
        _ command: JSONValue, seenBy participants: JSONValue?, into out: inout Outbox
    ) {
        guard let participants else {
            return appendDelete(command, of: command[.owner], for: nil, into: &out)
        }
        for participant in participants.elements {
            appendDelete(command, of: participant, for: participant, into: &out)
        }
    }

    /// Who says what happened, or sends the last known fields, knows better than a memory that may have begun later.
    @inline(__always)
    private mutating func appendSave(
        _ command: JSONValue, of owner: JSONValue?, for participant: JSONValue?, into out: inout Outbox
    ) {
        let wasKnown = memory.save(command, of: owner)
        let given = command[.change]
        let isUpdate = given.map { $0.equals("update") } ?? (wasKnown || command[.before] != nil)
        out.append { CommandWriter.write(command, for: participant, change: isUpdate ? .update : .create, into: &$0) }
    }

    /// A subscription's ID is unique for its user in a container (CKSubscription): the newest save has it.
    private mutating func appendSubscription(
        _ command: JSONValue, _ warnings: [SavedSubscription.Warning], into out: inout Outbox
    ) {
        let subscriptionID = command[.subscription]?[.subscriptionID]
        let places = homes.save(command)
        for left in places {
            out.append { CommandWriter.write(deleteOf: subscriptionID, in: left.database, for: command, into: &$0) }
        }
        out.append { CommandWriter.write(command, into: &$0) }
        out.saved(
            SavedSubscription(
                subscriptionID: subscriptionID?.string ?? "",
                warnings: warnings + places.map { SubscriptionHomes.warning(moved: subscriptionID, from: $0) }))
    }

    private mutating func appendDelete(
        _ command: JSONValue, of owner: JSONValue?, for participant: JSONValue?, into out: inout Outbox
    ) {
        let last = memory.delete(command, of: owner)
        out.append { CommandWriter.write(delete: command, for: participant, of: last, into: &$0) }
    }
}
