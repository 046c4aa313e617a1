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
        func add(_ value: JSONValue, in field: JSONValue) {
            guard Reference.deletesSelf(value, in: field), let name = value[.recordName]?.string else { return }
            targets.append(ModifyRequest.Key(zone: value[.zoneID].map { ZoneKey($0) } ?? zone, recordName: name))
        }
        guard let fields else { return [] }
        for (_, field) in fields.members {
            guard let value = field[.value] else { continue }
            if value.isObject { add(value, in: field) }
            for element in value.elements where element.isObject { add(element, in: field) }
        }
        return targets
    }
}

extension WebService {
    /// Sends the lines of `modify`, apart from those that the gateway refuses because of ``ReferenceLimit``.
    ///
    /// - Parameter send: Sends these lines. Returns the results in the order of the lines.
    func limitingReferences(
        _ modify: ModifyRequest, _ request: ServiceRequest, _ session: Session,
        _ send: ([Range<Int>]) async throws(ServiceError) -> [WriteResult]
    ) async throws(ServiceError) -> [WriteResult] {
        guard modify.items.contains(where: { !$0.deleteTargets.isEmpty }) else { return try await send(modify.lines) }
        return try await inTurn(of: try session.account()) { () async throws(ServiceError) in
            var refused = try await refusedLines(of: modify, request, session)
            if !refused.isEmpty {
                // The store may lack deletes that make room.
                try await waitForStore()
                refused = try await refusedLines(of: modify, request, session)
            }
            let sent = modify.lines.indices.filter { refused[$0] == nil }
            let results = try await send(sent.map { modify.lines[$0] })
            let resultOfLine = Dictionary(uniqueKeysWithValues: zip(sent, results))
            return modify.lines.indices.compactMap { resultOfLine[$0] ?? refused[$0].map { .refused($0) } }
        }
    }

    /// The refusals by the index of the line. A request may have references to tens of thousands of records, so they are
    /// counted on a thread for reads, and within the time of a read.
    private func refusedLines(
        of modify: ModifyRequest, _ request: ServiceRequest, _ session: Session
    ) async throws(ServiceError) -> [Int: WriteLedger<String, AppliedRequest>.Refusal] {
        let database = session.databaseID
        return try await reads.run(for: session.reader(request), whenClientIsGone: request.whenClientIsGone) {
            [self] limit throws(ServiceError) in
            var counts: [ModifyRequest.Key: ItemCount<ModifyRequest.Key>] = [:]
            for (target, sources) in modify.sourcesOfTargets(in: database) {
                counts[target] = try count(target, savedBy: sources, modify, in: database, limit)
            }
            return modify.refusedLines(counts, in: database)
        }
    }

    /// - Parameter sources: The records that the request saves with a reference to the target.
    /// - Returns: Nil if there is room for all of these records.
    private func count(
        _ target: ModifyRequest.Key, savedBy sources: Set<ModifyRequest.Key>, _ modify: ModifyRequest,
        in database: DatabaseID, _ limit: ReadLimit
    ) throws(ServiceError) -> ItemCount<ModifyRequest.Key>? {
        do throws(RecordReadError) {
            let (name, zone, max) = (target.recordName, target.zone, ReferenceLimit.sourcesMax)
            // The request's deletes may make room again in a target with too many sources.
            let countMax = max + modify.items.count
            let count = try store.sourceCount(of: name, in: zone, of: database, countMax: countMax, within: limit)
            guard count + sources.count > max else { return nil }
            let keys = sources.union(modify.deletedKeys(in: database)).map { ($0.zone, $0.recordName) }
            let known = try store.sources(of: name, in: zone, of: database, among: keys, within: limit)
            return ItemCount(
                SavedItems(
                    count: count, known: Set(known.map { ModifyRequest.Key(zone: $0.zone, recordName: $0.name) })),
                max: max)
        } catch { throw ServiceError(error) }
    }
}

extension ModifyRequest {
    /// For each target of a `DELETE_SELF` reference, the records that are saved with such a reference.
    fileprivate func sourcesOfTargets(in database: DatabaseID) -> [Key: Set<Key>] {
        var sources: [Key: Set<Key>] = [:]
        for item in items {
            let key = item.key.stored(in: database)
            for target in item.deleteTargets { sources[target.stored(in: database), default: []].insert(key) }
        }
        return sources
    }

    fileprivate func deletedKeys(in database: DatabaseID) -> [Key] {
        items.filter(\.operation.isDelete).map { $0.key.stored(in: database) }
    }

    /// - Parameter counts: The sources of the targets that may get too many.
    /// - Returns: The refusals by the index of the line.
    fileprivate func refusedLines(
        _ counts: [Key: ItemCount<Key>], in database: DatabaseID
    ) -> [Int: WriteLedger<String, AppliedRequest>.Refusal] {
        guard !counts.isEmpty else { return [:] }
        var (counts, refused) = (counts, [Int: WriteLedger<String, AppliedRequest>.Refusal]())
        for item in items where refused[item.line] == nil {
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

    private static func refusal(
        of item: Item, _ target: Key
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
