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
        /// Nil if the record is deleted, or its zone has no indexes.
        let indexed: IndexedRecord?
    }

    func save(_ change: ChangeEvent) throws {
        let record = try change.required(.record)
        let type = try change.requiredText(.recordType, in: record)
        let zone = try rowCache.zone(record[.zoneID], of: change.event, madeBy: change.sequence, change.db)
        changedZones[zone.id] = change.sequence
        try rememberUsers(of: change)
        let old = try find(record, zone, change)
        if let old, !old.isDeleted, type.equals(old.type) {
            try update(old, record, zone, change)
        } else {
            if let old { try remove(old, zone, change) }
            try insert(record, type, zone, change)
        }
    }

    private func rememberUsers(of change: ChangeEvent) throws {
        for user in [change.event[.owner], change.event[.origin]?[.user]] {
            if let user { try rowCache.account(user, of: change.event, change.db) }
        }
    }

    /// The record that an event has just saved.
    func saved(_ change: ChangeEvent) throws -> StoredRecord? {
        let record = try change.required(.record)
        let name = try change.requiredText(.recordName, in: record)
        let key = ZoneKey(record[.zoneID])
        guard let zone = try rowCache.livingZone(record[.zoneID], of: change.event, change.db),
            let database = DatabaseID(of: change.event)
        else { return nil }
        return try change.statements.findRecord.first([.int(zone.id), .json(name)]) { row in
            RecordRow(row: row).record(in: key, of: database)
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
                indexed: isIndexed && isLiving
                    ? IndexedRecord(system: found.system, fields: Array(found.fields)) : nil)
        }
    }

    private func insert(_ record: JSONValue, _ type: JSONValue, _ zone: ZoneRow, _ change: ChangeEvent) throws {
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
        guard indexes.hasIndexes(zone: zone.id) else { return }
        let system = SystemValues(
            name: name.string ?? "", sequence: change.sequence, created: change.stamp, modified: change.stamp)
        try reindex(zone, nil, NewRecord(id: id, type: type.string ?? "", system: system, fields: fields), change)
    }

    private func update(_ old: OldRecord, _ record: JSONValue, _ zone: ZoneRow, _ change: ChangeEvent) throws {
        let fields = record[.fields]
        let links = RecordLinks(of: fields, in: zone)
        try change.statements.updateRecord.run(
            [.sequence(change.sequence)] + change.stampValues
                + [record.othersValue, record.fieldsValue, .int(links.kinds.rawValue), .int(old.id)])
        let broken = try old.links.contains(.references) ? brokenTargets(of: old.id, change) : []
        try removeLinks(of: old, change)
        try add(links, of: old.id, in: zone, broken: broken, change)
        guard var system = old.indexed?.system else { return }
        (system.sequence, system.modified) = (change.sequence, change.stamp)
        try reindex(zone, old, NewRecord(id: old.id, type: old.type, system: system, fields: fields), change)
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

extension JSONValue {
    private static let noFields: StaticString = "{}"

    /// The text of a record's fields.
    fileprivate var fieldsValue: SQLValue {
        self[.fields].map { .utf8($0.raw) }
            ?? .utf8(
                UnsafeRawBufferPointer(
                    start: JSONValue.noFields.utf8Start, count: JSONValue.noFields.utf8CodeUnitCount))
    }

    /// The members that Belfry keeps for clients without using them.
    fileprivate var othersValue: SQLValue {
        guard self["parent"] != nil || self["share"] != nil || self["shortGUID"] != nil else { return .null }
        var buffer = ByteBuffer()
        buffer.append("{")
        buffer.append("parent", self["parent"])
        buffer.append("share", self["share"])
        buffer.append("shortGUID", self["shortGUID"])
        return .text(String(buffer.text.dropFirst()))
    }
}
