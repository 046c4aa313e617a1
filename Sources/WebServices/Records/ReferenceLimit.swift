import CloudKitModel
import Events
import JSON
import RecordStore

/// CloudKit Web Services Reference, "Data Size Limits": at most 750 records may have a `DELETE_SELF` reference to the
/// same record.
///
/// As with ``UserLimits``, a gateway counts what its own store has, and ingest does not know the limit.
enum ReferenceLimit {
    static let sourcesMax = 750

    /// The targets of the `DELETE_SELF` references in the fields of a record.
    ///
    /// - Parameters:
    ///   - fields: Field dictionaries by name.
    ///   - zone: The zone of the record. A reference without a zone means a record of the same zone.
    static func targets(of fields: JSONValue?, in zone: ZoneKey) -> [ModifyRequest.Key] {
        var targets: [ModifyRequest.Key] = []
        func add(_ value: JSONValue) {
            guard value[.action]?.equals("DELETE_SELF") == true, let name = value[.recordName]?.string else { return }
            targets.append(ModifyRequest.Key(zone: value[.zoneID].map { ZoneKey($0) } ?? zone, recordName: name))
        }
        guard let fields else { return [] }
        for (_, field) in fields.members where Reference.isAllowed(in: field) {
            guard let value = field[.value] else { continue }
            if value.isObject { add(value) }
            for element in value.elements where element.isObject { add(element) }
        }
        return targets
    }
}

extension WebService {
    /// Sends the lines of `modify`, apart from those that the gateway refuses because of ``ReferenceLimit``.
    ///
    /// - Parameter send: Sends these lines. Returns the results in the order of the lines.
    func limitingReferences(
        _ modify: ModifyRequest, _ session: Session,
        _ send: ([Range<Int>]) async throws(ServiceError) -> [WriteResult]
    ) async throws(ServiceError) -> [WriteResult] {
        guard modify.items.contains(where: { !$0.deleteTargets.isEmpty }) else { return try await send(modify.lines) }
        return try await inTurn(of: try session.account()) { () async throws(ServiceError) in
            var refused = try refusedLines(of: modify, in: session.databaseID)
            if !refused.isEmpty {
                // The store may lack deletes that make room.
                try await waitForStore()
                refused = try refusedLines(of: modify, in: session.databaseID)
            }
            let sent = modify.lines.indices.filter { refused[$0] == nil }
            let results = try await send(sent.map { modify.lines[$0] })
            let resultOfLine = Dictionary(uniqueKeysWithValues: zip(sent, results))
            return modify.lines.indices.compactMap { resultOfLine[$0] ?? refused[$0].map { .refused($0) } }
        }
    }

    /// The refusals by the index of the line.
    private func refusedLines(
        of modify: ModifyRequest, in database: DatabaseID
    ) throws(ServiceError) -> [Int: WriteLedger<String, AppliedRequest>.Refusal] {
        let keys = Set(modify.items.map { $0.key.stored(in: database) })
        var counts: [ModifyRequest.Key: ItemCount<ModifyRequest.Key>] = [:]
        for target in Set(modify.items.flatMap(\.deleteTargets).map { $0.stored(in: database) }) {
            counts[target] = ItemCount(
                try sources(of: target, in: database, among: keys), max: ReferenceLimit.sourcesMax)
        }
        var refused: [Int: WriteLedger<String, AppliedRequest>.Refusal] = [:]
        for item in modify.items where refused[item.line] == nil {
            let key = item.key.stored(in: database)
            if item.operation.isDelete {
                for target in counts.keys { counts[target]?.delete(key) }
            }
            for target in item.deleteTargets.map({ $0.stored(in: database) })
            where counts[target]?.save(key) == false {
                refused[item.line] = Self.refusal(of: item, target)
            }
        }
        return refused
    }

    private func sources(
        of target: ModifyRequest.Key, in database: DatabaseID, among keys: Set<ModifyRequest.Key>
    ) throws(ServiceError) -> SavedItems<ModifyRequest.Key> {
        do throws(RecordReadError) {
            let found = try store.sources(
                of: target.recordName, in: target.zone, of: database, among: keys.map { ($0.zone, $0.recordName) },
                countMax: ReferenceLimit.sourcesMax)
            return SavedItems(
                count: found.count,
                known: Set(found.known.map { ModifyRequest.Key(zone: $0.zone, recordName: $0.name) }))
        } catch { throw ServiceError(error) }
    }

    private static func refusal(
        of item: ModifyRequest.Item, _ target: ModifyRequest.Key
    ) -> WriteLedger<String, AppliedRequest>.Refusal {
        .init(
            code: "reference.too_many", path: "operations[\(item.indexInLine)].record.fields",
            reason: "\(ReferenceLimit.sourcesMax) records already have a DELETE_SELF reference to the record "
                + "\"\(target.recordName)\", and no more may: use the action NONE, or refer to another record")
    }
}

extension ModifyRequest.Item {
    fileprivate var key: ModifyRequest.Key { ModifyRequest.Key(zone: zone, recordName: recordName) }
}

extension ModifyRequest.Key {
    /// The same record, with its zone as the database stores it. A zone that the database cannot have stays as it is.
    fileprivate func stored(in database: DatabaseID) -> ModifyRequest.Key {
        ModifyRequest.Key(zone: zone.stored(in: database) ?? zone, recordName: recordName)
    }
}
