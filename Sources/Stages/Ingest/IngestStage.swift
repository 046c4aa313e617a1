import CloudKitModel
import Events
import JSON
import PipelineKit
import Predicates
import Time

/// Checks commands and writes the accepted commands to the changes log, which the match stage reads.
///
/// The log gets most commands as they came, but without `time`. A `records.modify` becomes a `record.save` or
/// `record.delete` for each operation; a `forceDelete` of a record that does not exist writes no event. A command with
/// participants becomes one event for each participant. A `zone.save` of an existing zone writes no event.
///
/// Ingest adds `change` to each record command. To a delete, it also adds the record's `recordType`, and the record's
/// last known fields as `before`. If the command already has one of these members, the command's value
/// stays.
///
/// If a user saves a subscription ID that the user already has in another database, ingest first writes a
/// `subscription.delete` for that database.
package struct IngestStage: Stage {
    package static let kind = "ingest"
    package static let writes: LogKind? = .changes
    package static let isSource = true

    private let check: CommandCheck
    let reader: RecordReader
    var memory: RecordMemory
    var databases = SubscriptionDatabases()
    /// The sequence of the next event.
    var nextSequence: UInt64 = 1

    package init(_ settings: IngestSettings, context: StageContext) throws(SettingsError) {
        check = CommandCheck(
            allowsSubscriptionsInAnyDatabase: settings.subscriptionsInAnyDatabase,
            predicates: PredicateReader(settings.predicates == .extended ? .extended : .cloudKit))
        reader = RecordReader(pastEvents: context.past)
        memory = RecordMemory(NameFingerprint.Key(context.log))
    }

    package mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        do {
            try append(event.value, try check(event.value), into: &out)
        } catch {
            out.reject(event, Rejection(code: error.code, reason: error.reason, path: error.path))
        }
    }

    package mutating func recall(_ event: borrowing InputEvent, at now: Instant) {
        nextSequence = event.sequence + 1
        if event.isOfType(EventName.recordSave) {
            _ = memory.save(event.value, of: event.value[.owner], at: event.sequence)
        } else if event.isOfType(EventName.recordDelete) {
            memory.recallDelete(event.value)
        } else if event.isOfType(EventName.zoneSave) {
            memory.saveZone(of: zone(of: event.value))
        } else if event.isOfType(EventName.zoneDelete) {
            memory.deleteZone(of: zone(of: event.value), at: event.sequence)
        } else if event.isOfType(EventName.subscriptionSave) {
            databases.recall(event.value)
        } else if event.isOfType(EventName.subscriptionDelete) {
            databases.delete(event.value)
        }
    }

    @inline(__always)
    private mutating func append(
        _ command: JSONValue, _ valid: CommandCheck.ValidCommand, into out: inout Outbox
    ) throws(ModelError) {
        switch valid.type {
        case .recordSave, .recordDelete:
            appendChange(command, isDelete: valid.type == .recordDelete, seenBy: valid.participants, into: &out)
        case .recordsModify: try modify(command, into: &out)
        case .zoneSave: saveZone(command, into: &out)
        case .zoneDelete: try deleteZone(command, into: &out)
        case .subscriptionSave: appendSubscription(command, valid.warnings, into: &out)
        case .subscriptionDelete:
            databases.delete(command)
            append(into: &out) { CommandWriter.write(command, into: &$0) }
        case .deviceRegister, .deviceUnregister, .badgeSet, .pushRedrive:
            append(into: &out) { CommandWriter.write(command, into: &$0) }
        }
    }

    /// Appends the log's next event.
    @inline(__always)
    private mutating func append(into out: inout Outbox, _ write: (inout ByteBuffer) -> Void) {
        out.append(write)
        nextSequence += 1
    }

    /// Appends one event, or one event for the shared database of each participant.
    @inline(__always)
    private mutating func appendChange(
        _ command: JSONValue, isDelete: Bool, seenBy participants: JSONValue?, into out: inout Outbox
    ) {
        guard let participants else { return appendChange(command, isDelete: isDelete, for: nil, into: &out) }
        for participant in participants.elements {
            appendChange(command, isDelete: isDelete, for: participant, into: &out)
        }
    }

    /// Appends one event. The command's own `change` or `before` takes precedence over the memory, because the memory
    /// does not know a record that was saved before the log began.
    @inline(__always)
    private mutating func appendChange(
        _ command: JSONValue, isDelete: Bool, for participant: JSONValue?, into out: inout Outbox
    ) {
        let owner = participant ?? command[.owner]
        if isDelete {
            let deleted = delete(command, of: owner, &out)
            return append(into: &out) {
                CommandWriter.write(command, for: participant, change: .delete, deleted: deleted, into: &$0)
            }
        }
        let wasKnown = memory.save(command, of: owner, at: nextSequence)
        let given = command[.change]
        let isUpdate = given.map { $0.equals("update") } ?? (wasKnown || command[.before] != nil)
        append(into: &out) {
            CommandWriter.write(command, for: participant, change: isUpdate ? .update : .create, into: &$0)
        }
    }

    /// Forgets the record of a checked `record.delete`.
    ///
    /// - Returns: The contents of the forgotten record; nil if they cannot be read from the log. Also nil if no record
    ///   was forgotten, because the record does not exist or the command names another type.
    private mutating func delete(
        _ command: JSONValue, of owner: JSONValue?, _ out: inout Outbox
    ) -> RecordContents? {
        guard let record = command[.record] else { return nil }
        let address = RecordAddress(of: command, owner, zone: record[.zoneID], name: record[.recordName])
        guard let known = memory.find(address) else { return nil }
        let type = record[.recordType] ?? command[.recordType]
        guard type.map({ memory.key.fingerprint(ofType: $0) == known.type }) ?? true else { return nil }
        // The memory forgets the record even if the record's last fields cannot be read. A restarted stage that recalls
        // the delete forgets the record too.
        memory.remove(address)
        return reader.contents(of: known, at: address, before: nextSequence, &out)
    }

    /// A subscription ID is unique for a user in a container (CKSubscription), so the newest save wins.
    private mutating func appendSubscription(
        _ command: JSONValue, _ warnings: [SavedSubscription.Warning], into out: inout Outbox
    ) {
        let subscriptionID = command[.subscription]?[.subscriptionID]
        let former = databases.save(command)
        for old in former {
            append(into: &out) {
                CommandWriter.write(deleteOf: subscriptionID, in: old.database, for: command, into: &$0)
            }
        }
        append(into: &out) { CommandWriter.write(command, into: &$0) }
        out.saved(
            SavedSubscription(
                subscriptionID: subscriptionID?.string ?? "",
                warnings: warnings + former.map { SubscriptionDatabases.warning(moved: subscriptionID, from: $0) }))
    }
}

// MARK: - Several records

extension IngestStage {
    /// Appends the events of all operations, or no event if one operation is rejected.
    private mutating func modify(_ command: JSONValue, into out: inout Outbox) throws(ModelError) {
        let mark = out.mark
        do throws(ModelError) {
            for change in try performOperations(of: command, into: &out) { memory.apply(change) }
        } catch {
            out.removeEvents(after: mark)
            throw error
        }
    }

    /// Writes the events of all operations.
    ///
    /// - Returns: The changes for the memory.
    private mutating func performOperations(
        of command: JSONValue, into out: inout Outbox
    ) throws(ModelError) -> [Modification.Change] {
        var (modification, index, sequence) = (Modification(command, reader), 0, nextSequence)
        for operation in command[.operations]?.elements ?? command.elements {
            let before = out.count
            try under(.operations) { () throws(ModelError) in
                try under(element: index) { () throws(ModelError) in
                    try modification.perform(operation, on: memory, at: sequence, into: &out)
                }
            }
            (index, sequence) = (index + 1, sequence + UInt64(out.count - before))
        }
        nextSequence = sequence
        return modification.changes
    }
}

// MARK: - Zones

extension IngestStage {
    private func zone(of command: JSONValue) -> RecordAddress {
        RecordAddress(of: command, command[.owner], zone: command[.zoneID], name: nil)
    }

    private mutating func saveZone(_ command: JSONValue, into out: inout Outbox) {
        let zone = zone(of: command)
        guard !memory.zoneExists(for: zone) else { return }
        memory.saveZone(of: zone)
        append(into: &out) { CommandWriter.write(command, into: &$0) }
    }

    private mutating func deleteZone(_ command: JSONValue, into out: inout Outbox) throws(ModelError) {
        let zone = zone(of: command)
        guard memory.zoneExists(for: zone) else {
            throw ModelError(
                "zone.missing", at: "zoneID",
                "zone \"\(command[.zoneID]?[.zoneName]?.string ?? "")\" does not exist: there is nothing to delete")
        }
        memory.deleteZone(of: zone, at: nextSequence)
        append(into: &out) { CommandWriter.write(command, into: &$0) }
    }
}

extension RecordMemory {
    fileprivate mutating func apply(_ change: Modification.Change) {
        if let sequence = change.saved {
            save(change.address, type: change.type, at: sequence)
        } else {
            remove(change.address)
        }
    }
}
