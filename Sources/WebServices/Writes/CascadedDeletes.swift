import CloudKitModel
import RecordStore

/// Deletes the records whose DELETE_SELF reference lost its target.
///
/// CloudKit: CKRecord.ReferenceAction.deleteSelf. Each gateway sends these deletes. A delete names the change tag that
/// its gateway saw. So only one of several gateways' deletes has an effect. If somebody has saved the record again,
/// these deletes have no effect. If the saved record still has the broken reference, new deletes are sent.
final class CascadedDeletes {
    private let store: RecordStore
    private let ids: IDSource
    private let writes: PendingWrites<AppliedRequest>
    /// The records for which a delete was sent. A record stays here until it is deleted or saved again, or until the
    /// target is saved again.
    private var sent: Set<RecordAddress> = []

    init(_ store: RecordStore, _ ids: IDSource, _ writes: PendingWrites<AppliedRequest>) {
        (self.store, self.ids, self.writes) = (store, ids, writes)
    }

    /// Sends a delete for each record that lost its target, has not been deleted, and for which no delete was sent. One
    /// call looks at the oldest 200 records that lost their targets.
    ///
    /// - Parameter isAfterDelete: Whether records or zones may have been deleted since the last call.
    func send(afterDelete isAfterDelete: Bool) throws {
        guard isAfterDelete || !sent.isEmpty else { return }
        let broken = Set(try store.recordsWithBrokenReferences())
        sent.formIntersection(broken)
        let fresh = broken.subtracting(sent)
        guard !fresh.isEmpty else { return }
        sent.formUnion(fresh)
        writes.send(fresh.sorted { $0.sequence < $1.sequence }.map { Self.line($0, ids.newRequestID()) })
    }

    private static func line(_ record: RecordAddress, _ request: String) -> PendingLine {
        let id = record.database
        let database = CommandDatabase(
            container: id.container, environment: id.environment, scope: id.scope, owner: id.owner)
        let command = DoorCommand(database: database, origin: nil, request: request)
        return PendingLine(id: request, of: .gateway, bytes: command.delete(record))
    }
}
