import Events
import GRDB
import JSON

extension RecordWriter {
    /// A record's row before an event.
    struct OldRecord {
        let id: Int64
        let isDeleted: Bool
        let links: RecordLinks.Kinds
        let type: String
        /// Nil if the record is deleted, or its creation is not needed.
        let created: RecordStamp?
        /// Nil if the record is deleted, or its zone has no indexes.
        let indexed: IndexedRecord?
    }

    /// - Returns: The saved record, if the event has a request.
    func save(_ change: ChangeEvent) throws -> StoredRecord? {
        let record = try change.required(.record)
        let type = try change.requiredText(.recordType, in: record)
        let zone = try rowCache.zone(record[.zoneID], of: change.event, madeBy: change.sequence, change.db)
        changedZones[zone.id] = change.sequence
        try rememberUsers(of: change)
        let old = try find(record, zone, change)
        if let old, !old.isDeleted, type.equals(old.type) {
            let links = try update(old, record, zone, change)
            return change.saved(record, created: old.created, links)
        } else {
            if let old { try remove(old, zone, change) }
            let links = try insert(record, type, zone, change)
            return change.saved(record, created: change.stamp, links)
        }
    }

    private func rememberUsers(of change: ChangeEvent) throws {
        for user in [change.event[.owner], change.event[.origin]?[.user]] {
            if let user { try rowCache.account(user, of: change.event, change.db) }
        }
    }

    private func find(_ record: JSONValue, _ zone: ZoneRow, _ change: ChangeEvent) throws -> OldRecord? {
        let name = try change.requiredText(.recordName, in: record)
        let isIndexed = indexes.hasIndexes(zone: zone.id)
        return try change.statements.findRecord.first([.int(zone.id), .json(name)]) { row in
            let found = RecordRow(row: row)
            let isLiving = !found.isDeleted
            return OldRecord(
                id: found.id, isDeleted: !isLiving, links: found.links, type: row.text(3),
                created: isLiving && change.hasRequest ? found.created : nil,
                indexed: isIndexed && isLiving
                    ? IndexedRecord(system: found.system, fields: Array(found.fields)) : nil)
        }
    }

    private func insert(
        _ record: JSONValue, _ type: JSONValue, _ zone: ZoneRow, _ change: ChangeEvent
    ) throws -> RecordLinks.Kinds {
        let (id, fields) = (Int64(change.sequence), record[.fields])
        let links = RecordLinks(of: fields, in: zone)
        let name = try change.requiredText(.recordName, in: record)
        try change.statements.insertRecord.run(
            [.int(id), .int(zone.id), .json(name), .json(type), .int(id)] + change.stampValues + change.stampValues
                + [record.othersValue, record.fieldsValue, .int(links.kinds.rawValue)])
        try add(links, of: id, in: zone, change)
        try change.statements.restoreReferences.run([
            .int(zone.database), .blob(RecordTarget.bytes(zone.targetPrefix, name)),
        ])
        guard indexes.hasIndexes(zone: zone.id) else { return links.kinds }
        let system = SystemValues(
            name: name.string ?? "", sequence: change.sequence, created: change.stamp, modified: change.stamp)
        try reindex(zone, nil, NewRecord(id: id, type: type.string ?? "", system: system, fields: fields), change)
        return links.kinds
    }

    private func update(
        _ old: OldRecord, _ record: JSONValue, _ zone: ZoneRow, _ change: ChangeEvent
    ) throws -> RecordLinks.Kinds {
        let fields = record[.fields]
        let links = RecordLinks(of: fields, in: zone)
        try change.statements.updateRecord.run(
            [.sequence(change.sequence)] + change.stampValues
                + [record.othersValue, record.fieldsValue, .int(links.kinds.rawValue), .int(old.id)])
        let broken = try old.links.contains(.references) ? brokenTargets(of: old.id, change) : []
        try removeLinks(of: old, change)
        try add(links, of: old.id, in: zone, broken: broken, change)
        guard var system = old.indexed?.system else { return links.kinds }
        (system.sequence, system.modified) = (change.sequence, change.stamp)
        try reindex(zone, old, NewRecord(id: old.id, type: old.type, system: system, fields: fields), change)
        return links.kinds
    }

    /// Removes the row of a record that is created again: a deleted record, or a record whose type changes.
    private func remove(_ old: OldRecord, _ zone: ZoneRow, _ change: ChangeEvent) throws {
        try removeLinks(of: old, change)
        try reindex(zone, old, nil, change)
        try change.statements.removeRecord.run([.int(old.id)])
    }

    /// A delete changes no record if the record does not exist or the event names another type. Ingest follows the same
    /// rule.
    func delete(_ change: ChangeEvent) throws {
        let record = try change.required(.record)
        try rememberUsers(of: change)
        guard let zone = try rowCache.livingZone(record[.zoneID], of: change.event, change.db),
            let old = try find(record, zone, change), !old.isDeleted,
            (record[.recordType] ?? change.event[.recordType])?.equals(old.type) ?? true
        else { return }
        changedZones[zone.id] = change.sequence
        hasDeleted = true
        try removeLinks(of: old, change)
        try reindex(zone, old, nil, change)
        try change.statements.markRecordDeleted.run([.sequence(change.sequence)] + change.stampValues + [.int(old.id)])
        let target = RecordTarget.bytes(zone.targetPrefix, try change.requiredText(.recordName, in: record))
        try change.statements.breakReferences.run([.int(zone.database), .blob(target)])
    }
}

// MARK: - Links

extension RecordWriter {
    private func add(
        _ links: RecordLinks, of id: Int64, in zone: ZoneRow, broken: Set<[UInt8]> = [], _ change: ChangeEvent
    ) throws {
        for target in links.targets {
            try change.statements.addReference.run([
                .int(zone.database), .blob(target), .int(id), .int(zone.id), .int(broken.contains(target) ? 1 : 0),
            ])
        }
        for checksum in links.checksums {
            try change.statements.addAsset.run([.json(checksum), .int(id), .int(zone.id)])
        }
    }

    private func brokenTargets(of id: Int64, _ change: ChangeEvent) throws -> Set<[UInt8]> {
        Set(try change.statements.brokenTargets.all([.int(id)]) { Array($0.bytes(0)) })
    }

    private func removeLinks(of old: OldRecord, _ change: ChangeEvent) throws {
        if old.links.contains(.references) { try change.statements.removeReferences.run([.int(old.id)]) }
        if old.links.contains(.assets) { try change.statements.removeAssets.run([.int(old.id)]) }
    }
}

extension ChangeEvent {
    /// The record that the event saves; nil if the event has no request.
    ///
    /// - Parameter created: Nil only if the event has no request.
    fileprivate func saved(
        _ record: JSONValue, created: RecordStamp?, _ links: RecordLinks.Kinds
    ) -> StoredRecord? {
        guard hasRequest, let created, let database = DatabaseID(of: event) else { return nil }
        let system = SystemValues(
            name: record[.recordName]?.string ?? "", sequence: sequence, created: created, modified: stamp)
        return StoredRecord(
            database: database, zone: ZoneKey(record[.zoneID]), type: record[.recordType]?.string ?? "",
            system: system, others: record.others, fields: Array(record[.fields]?.raw ?? JSONValue.emptyObject),
            hasAssets: links.contains(.assets), namesAllTypes: links.contains(.types))
    }
}

extension JSONValue {
    private static let noFields: StaticString = "{}"

    fileprivate static var emptyObject: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: noFields.utf8Start, count: noFields.utf8CodeUnitCount)
    }

    /// The text of a record's fields.
    fileprivate var fieldsValue: SQLValue { .utf8(self[.fields]?.raw ?? JSONValue.emptyObject) }

    fileprivate var othersValue: SQLValue { .text(others) }

    /// The members that Belfry keeps for clients without using them.
    fileprivate var others: String? {
        guard self["parent"] != nil || self["share"] != nil || self["shortGUID"] != nil else { return nil }
        var buffer = ByteBuffer()
        buffer.append("{")
        buffer.append("parent", self["parent"])
        buffer.append("share", self["share"])
        buffer.append("shortGUID", self["shortGUID"])
        return String(buffer.text.dropFirst())
    }
}
