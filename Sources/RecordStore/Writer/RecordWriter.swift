import Events
import GRDB
import Glibc
import JSON
import Time

/// Applies the events of the changes log to a store. A store must have only one writer, which belongs to one thread.
package final class RecordWriter {
    let store: RecordStore
    private var parser = JSONParser(limits: StoredJSON.limits)
    /// Parses fields that are already in the store: of a record before an event, or of a record to add to an index.
    var storedFieldsParser = JSONParser(limits: StoredJSON.limits)
    private var cachedStatements: WriterStatements?
    var rowCache = RowCache()
    var indexes = StoredIndexCache()
    /// For each zone in which this transaction saves or deletes records: the sequence of the newest of these events, by
    /// the zone's ID.
    var changedZones: [Int64: UInt64] = [:]
    private var requests: [AppliedRequest] = []
    /// Whether the last call of ``apply(_:)`` deleted a record or a zone.
    package internal(set) var hasDeleted = false

    package init(_ store: RecordStore) { self.store = store }

    /// Applies events in one transaction: after an error, or a crash, none of them is applied.
    ///
    /// Events that the store has applied before are skipped, so a batch may be given again. An empty store accepts a
    /// log whose first events were removed. The store then refuses change tokens that are older than the log's first
    /// event.
    ///
    /// - Returns: The events that name a request, in order. The skipped events are left out, and so are events of types
    ///   that change nothing in a store, such as `badge.set`.
    /// - Throws: ``RecordStoreError``; after a gap in the events ``RecordStoreError/missingEvents(applied:first:)``.
    package func apply(_ batches: [EventBatch]) throws(RecordStoreError) -> [AppliedRequest] {
        try transaction { db in
            (requests, hasDeleted) = ([], false)
            var progress = Progress(try Facts.number(.applied, db))
            for batch in batches { try apply(batch, &progress, db) }
            try end(progress, db)
            return requests
        }
    }

    /// Runs a transaction. If it fails, the caches of the tables are emptied.
    func transaction<Value>(_ body: (Database) throws -> Value) throws(RecordStoreError) -> Value {
        do {
            return try store.writing.write { db in
                try indexes.load(db)
                return try body(db)
            }
        } catch {
            (rowCache, indexes, changedZones) = (RowCache(), StoredIndexCache(), [:])
            throw RecordStoreError(error, path: store.path)
        }
    }

    /// Closes the store.
    package func close() throws(RecordStoreError) {
        cachedStatements = nil
        try store.close()
    }

    func statements(_ db: Database) throws -> WriterStatements {
        if let cachedStatements { return cachedStatements }
        let made = try WriterStatements(db)
        cachedStatements = made
        return made
    }
}

// MARK: - Batches

extension RecordWriter {
    private struct Progress {
        let before: UInt64
        var applied: UInt64
        var time: Instant?

        init(_ applied: Int64) { (before, self.applied) = (UInt64(applied), UInt64(applied)) }
    }

    private func apply(_ batch: EventBatch, _ progress: inout Progress, _ db: Database) throws {
        if progress.applied == 0, batch.firstSequence > 1 {
            progress.applied = batch.firstSequence - 1
            try Facts.set(.floor, .sequence(progress.applied), db)
        }
        guard batch.firstSequence <= progress.applied + 1 else {
            throw RecordStoreError.missingEvents(applied: progress.applied, first: batch.firstSequence)
        }
        var sequence = batch.firstSequence
        try batch.forEachLine { line in
            defer { sequence += 1 }
            guard sequence > progress.applied else { return }
            try apply(line, sequence, batch.now, db)
            (progress.applied, progress.time) = (sequence, batch.now)
        }
    }

    private func apply(
        _ line: UnsafeRawBufferPointer, _ sequence: UInt64, _ now: Instant, _ db: Database
    ) throws {
        let event: JSONValue
        do { event = try parser.parse(line) } catch {
            throw RecordStoreError.badEvent(sequence: sequence, reason: "\(error)")
        }
        try apply(ChangeEvent(event: event, sequence: sequence, now: now, db: db, statements: statements(db)))
    }

    private func end(_ progress: Progress, _ db: Database) throws {
        for (zone, sequence) in changedZones {
            try db.prepared("UPDATE zones SET changed = ? WHERE id = ?").run([.sequence(sequence), .int(zone)])
        }
        changedZones.removeAll(keepingCapacity: true)
        guard progress.applied > progress.before else { return }
        try Facts.set(.applied, .sequence(progress.applied), db)
        if let time = progress.time { try Facts.set(.appliedTime, .int(time.microseconds), db) }
    }
}

extension EventBatch {
    fileprivate func forEachLine(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try lines.withUnsafeBytes { bytes in
            var rest = bytes
            while let start = rest.baseAddress, rest.count > 0 {
                let feed = memchr(start, CInt(UInt8(ascii: "\n")), rest.count)
                let length = feed.map { start.distance(to: $0) } ?? rest.count
                try body(UnsafeRawBufferPointer(rebasing: rest[..<length]))
                rest = UnsafeRawBufferPointer(rebasing: rest[min(length + 1, rest.count)...])
            }
        }
    }
}

// MARK: - Events

extension RecordWriter {
    /// An event of another type, such as `badge.set`, changes nothing in the store.
    private func apply(_ change: ChangeEvent) throws {
        guard let type = change.event[.type] else { return }
        var saved: StoredRecord?
        switch type {
        case EventName.recordSave: saved = try save(change)
        case EventName.recordDelete: try delete(change)
        case EventName.zoneSave: try saveZone(change)
        case EventName.zoneDelete: try deleteZone(change)
        case EventName.subscriptionSave: try saveSubscription(change)
        case EventName.subscriptionDelete: try deleteSubscription(change)
        case EventName.deviceRegister: try register(change)
        case EventName.deviceUnregister: try unregister(change)
        default: return
        }
        guard let request = change.event[.request]?.string else { return }
        requests.append(change.appliedRequest(request, type: type, saved: saved))
    }
}
