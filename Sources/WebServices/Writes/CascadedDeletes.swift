import CloudKitModel
import RecordStore

/// Deletes the records whose DELETE_SELF reference lost its target.
///
/// CloudKit: CKRecord.ReferenceAction.deleteSelf. Each gateway sends these deletes. A delete names the change tag that
/// its gateway saw. So of several gateways' deletes one has an effect, and none if somebody saved the record again.
final class CascadedDeletes {
    private let store: RecordStore
    private let ids: RequestIDSource
    private let writes: PendingWrites<AppliedRequest>
    /// The deletes that were sent, by record, until the record is gone.
    private var sent: Set<RecordAddress> = []

    init(_ store: RecordStore, _ ids: RequestIDSource, _ writes: PendingWrites<AppliedRequest>) {
        (self.store, self.ids, self.writes) = (store, ids, writes)
    }

    /// Sends a delete for each record that lost its target and has not been deleted yet.
    ///
    /// - Parameter isAfterDelete: Whether records or zones may have been deleted since the last call.
    func send(afterDelete isAfterDelete: Bool) throws {
        guard isAfterDelete || !sent.isEmpty else { return }
        let orphans = Set(try store.orphans())
        sent.formIntersection(orphans)
        let fresh = orphans.subtracting(sent)
        guard !fresh.isEmpty else { return }
        sent.formUnion(fresh)
        writes.send(fresh.sorted { $0.sequence < $1.sequence }.map { Self.line($0, ids.request()) })
    }

    private static func line(_ record: RecordAddress, _ request: String) -> PendingLine {
        let database = record.database
        let place = CommandPlace(
            container: database.container, environment: database.environment, database: database.scope,
            owner: database.owner)
        return PendingLine(id: request, bytes: CommandLine(place: place, origin: nil, request: request).delete(record))
    }
}
