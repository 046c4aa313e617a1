import Events
import PipelineRuntime
import RecordStore

/// Writes operations on records of the public database. There, only a record's creator may change the record, as in
/// CloudKit's default security roles.
///
/// Ingest does not know who created a record. So the gateway reads the record first. It sends a forced operation in a
/// form that is not forced: ingest refuses this form if the record was written after the gateway's read. After such a
/// refusal, the gateway reads the record again.
extension WebService {
    typealias WriteResult = PendingWrites<AppliedRequest>.Result

    /// Writes operations of `modify`, each in a line of its own.
    ///
    /// - Parameter chosen: The indexes of the operations, in ascending order.
    /// - Returns: The results of the chosen operations, in their order.
    func writeAsCreator(
        _ modify: ModifyRequest, _ chosen: [Int], _ lineMaker: LineMaker, _ session: Session
    ) async throws(ServiceError) -> [WriteResult] {
        let (rule, deadline) = (CreatorRule(user: lineMaker.origin.user), ContinuousClock.now + settings.writeTimeout)
        var results = [WriteResult](repeating: .refused(CreatorRule.busy), count: modify.items.count)
        var open = chosen
        for round in 0... {
            guard !open.isEmpty, .now < deadline else { break }
            // Between two tries, the writes of others have time to end.
            if round > 0 { try? await Task.sleep(for: .milliseconds(min(10 << min(round, 6), 500))) }
            var (lines, sent): ([PendingLine], [Int]) = ([], [])
            var found: [Int: OperationText.Found] = [:]
            do {
                let records = try await currentRecords(of: open.map { modify.items[$0] }, session)
                for (index, record) in zip(open, records) {
                    switch rule.decision(on: modify.items[index], record) {
                    case .end(let result): results[index] = result
                    case .send(let present):
                        found[index] = present
                        lines.append(try modify.line(index..<index + 1, lineMaker, after: found))
                        sent.append(index)
                    }
                }
            } catch {
                guard round > 0 else { throw error }
                // Earlier rounds may have stored other operations, so the request gets an answer.
                break
            }
            let written = await writes.write(lines, until: deadline)
            open = zip(sent, written)
                .filter { modify.items[$0].text.isForced && $1.isRefused(because: found[$0]) }.map(\.0)
            for (index, result) in zip(sent, written) where !open.contains(index) { results[index] = result }
        }
        return try chosen.map { results[$0] }.throwingIfAllUnknownOrNotSent()
    }

    /// What the store has at the address of each operation. Creates count as `noRecord`, without a read.
    private func currentRecords(
        of items: [ModifyRequest.Item], _ session: Session
    ) async throws(ServiceError) -> [CreatorRule.Found] {
        var records = [CreatorRule.Found](repeating: .noRecord, count: items.count)
        let read = items.indices.filter { items[$0].operation != .create }
        guard !read.isEmpty else { return records }
        try await waitForStore()
        for (zone, indexes) in Dictionary(grouping: read, by: { items[$0].zone }) {
            do throws(RecordReadError) {
                let names = indexes.map { items[$0].recordName }
                let found = try store.records(named: names, in: zone, of: session.databaseID)
                for (index, record) in zip(indexes, found) { records[index] = record.map { .record($0) } ?? .noRecord }
            } catch {
                guard case .zoneNotFound = error else { throw ServiceError(error) }
                for index in indexes { records[index] = .noZone }
            }
        }
        return records
    }
}

/// Decides whether a user may make an operation, from what the store has at the operation's address.
private struct CreatorRule {
    typealias Refusal = WriteLedger<String, AppliedRequest>.Refusal

    enum Found {
        case noZone, noRecord
        case record(StoredRecord)
    }

    enum Decision {
        case send(OperationText.Found?)
        case end(WebService.WriteResult)
    }

    let user: String

    func decision(on item: ModifyRequest.Item, _ found: Found) -> Decision {
        switch (item.operation, found) {
        // Ingest refuses operations on a zone that does not exist.
        case (.create, _), (_, .noZone): .send(nil)
        case (.forceDelete, .noRecord): .end(.stored([]))
        case (_, .noRecord): item.text.isForced ? .send(.noRecord) : .end(.refused(Self.missing))
        case (_, .record(let record)) where record.created.user == user:
            .send(.record(record.changeTag, created: record.created))
        case (_, .record): .end(.refused(Self.notCreator))
        }
    }

    static let busy = Refusal(
        code: "record.busy", path: "", reason: "other clients write the record again and again; send this write later")
    private static let notCreator = Refusal(
        code: "record.owner", path: "",
        reason: "the user did not create the record; only its creator may change a record of the public database")
    private static let missing = Refusal(
        code: "record.missing", path: "recordName", reason: "the record does not exist: create it, or fetch again")
}

extension PendingWrites.Result {
    /// Whether ingest refused the line of a forced operation because the operation's address no longer had what the
    /// gateway found there.
    fileprivate func isRefused(because found: OperationText.Found?) -> Bool {
        guard case .refused(let refusal) = self, let found else { return false }
        return switch found {
        case .noRecord: refusal.code == "record.exists"
        case .record: refusal.code == "record.conflict" || refusal.code == "record.missing"
        }
    }
}
