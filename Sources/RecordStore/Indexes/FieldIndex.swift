import GRDB
import JSON
import Predicates

/// An index on one or two fields or system fields of the records of one type in one zone.
///
/// An index on two fields finds the records with one value of the first field, in the order of the second field.
struct FieldIndex: Hashable, Sendable {
    let zone: Int64
    let type: String
    let subject: Clause.Subject
    /// The second field; nil for an index on one field.
    let second: Clause.Subject?

    init(zone: Int64, type: String, subject: Clause.Subject, second: Clause.Subject? = nil) {
        (self.zone, self.type, self.subject, self.second) = (zone, type, subject, second)
    }

    /// - Parameter name: The index's ``name``.
    /// - Returns: Nil if no index can have this name.
    init?(zone: Int64, type: String, name: String) {
        let names = name.split(separator: FieldIndex.separator, maxSplits: 1, omittingEmptySubsequences: false)
        guard let subject = Clause.Subject(indexName: String(names[0])) else { return nil }
        (self.zone, self.type, self.subject) = (zone, type, subject)
        second = names.count > 1 ? Clause.Subject(indexName: String(names[1])) : nil
        if names.count > 1, second == nil { return nil }
    }

    /// The name in the table of indexes, such as `topic` or `topic,priority`. No name of a field contains a comma.
    var name: String { ([subject] + (second.map { [$0] } ?? [])).map(\.indexName).joined(separator: ",") }

    private static let separator: Character = ","

    /// The record's key in the index. Keys of an index on two fields begin with the ``prefix(_:)`` of the first field's
    /// key.
    func key(_ fields: JSONValue?, _ system: SystemValues) -> [UInt8] {
        let first = OrderKey.of(subject, fields, system)
        guard let second else { return first }
        return FieldIndex.prefix(first) + OrderKey.of(second, fields, system)
    }

    /// The beginning of a record's key in an index on two fields, if the record's first field has the given key. The
    /// keys of other records do not begin with these bytes, because each key begins with the length of its first
    /// field's key.
    static func prefix(_ key: [UInt8]) -> [UInt8] { [UInt8(key.count >> 8), UInt8(key.count & 0xFF)] + key }
}

/// A row of `fieldIndexes`: an index, and how much of it is built. Its entries are rows of `fieldEntries`: a key for
/// each record.
struct StoredIndex {
    let id: Int64
    let index: FieldIndex
    /// Records with IDs up to this one are in the index.
    var builtTo: Int64

    /// ``builtTo`` of an index with every record.
    static let complete = Int64.max

    var isComplete: Bool { builtTo == StoredIndex.complete }

    /// The indexes of one type in one zone, complete or not.
    static func all(zone: Int64, type: String, _ db: some SQLConnection) throws -> [StoredIndex] {
        try db.prepared(
            "SELECT id, zone, type, field, builtTo FROM fieldIndexes WHERE zone = ? AND type = ? ORDER BY id"
        ).all([.int(zone), .text(type)], StoredIndex.init).compactMap { $0 }
    }

    static func all(_ db: some SQLConnection) throws -> [StoredIndex] {
        try db.prepared("SELECT id, zone, type, field, builtTo FROM fieldIndexes ORDER BY id").all([], StoredIndex.init)
            .compactMap { $0 }
    }

    private init?(_ row: SQLRow) {
        guard let index = FieldIndex(zone: row.int(1), type: row.text(2), name: row.text(3)) else { return nil }
        (id, builtTo, self.index) = (row.int(0), row.int(4), index)
    }
}

/// The writer's copy of the rows of `fieldIndexes`, by zone.
struct StoredIndexCache {
    private(set) var byZone: [Int64: [StoredIndex]] = [:]
    private var isLoaded = false

    mutating func load(_ db: some SQLConnection) throws {
        guard !isLoaded else { return }
        byZone = Dictionary(grouping: try StoredIndex.all(db)) { $0.index.zone }
        isLoaded = true
    }

    /// Makes the next ``load(_:)`` read the rows again.
    mutating func invalidate() { isLoaded = false }

    func hasIndexes(zone: Int64) -> Bool { !byZone.isEmpty && byZone[zone] != nil }

    /// An index that is not complete; nil if all indexes are complete.
    var unfinished: StoredIndex? { byZone.values.lazy.flatMap { $0 }.first { !$0.isComplete } }

    var count: Int { byZone.values.reduce(0) { $0 + $1.count } }
}

/// The values of a record from which its keys are made.
struct IndexedRecord {
    let system: SystemValues
    let fields: [UInt8]
}

/// A record after an event, whose keys are added to the indexes. Valid only while the event is applied.
struct NewRecord {
    let id: Int64
    let type: String
    let system: SystemValues
    let fields: JSONValue?
}

extension RecordWriter {
    /// Replaces the keys of a record in the indexes of its zone.
    func reindex(_ zone: ZoneRow, _ old: OldRecord?, _ new: NewRecord?, _ change: ChangeEvent) throws {
        guard let indexes = indexes.byZone[zone.id] else { return }
        let before = try oldKeys(old, indexes)
        for (index, before) in zip(indexes, before) {
            let after = new.flatMap { index.key($0.id, $0.type, $0.fields, $0.system) }
            if before == after, old?.id == new?.id { continue }
            if let before, let old { try change.statements.removeEntry.run(index.entry(before, old.id)) }
            if let after, let new { try change.statements.addEntry.run(index.entry(after, new.id)) }
        }
    }

    /// The key of the record in each index; nil for an index without the record.
    private func oldKeys(_ old: OldRecord?, _ indexes: [StoredIndex]) throws -> [[UInt8]?] {
        guard let old, let indexed = old.indexed else { return indexes.map { _ in nil } }
        return try indexed.fields.withUnsafeBytes { bytes in
            let fields = try storedFieldsParser.parse(bytes)
            return indexes.map { $0.key(old.id, old.type, fields, indexed.system) }
        }
    }
}

extension StoredIndex {
    /// The record's key in the index; nil if the index does not contain the record.
    fileprivate func key(_ id: Int64, _ type: String, _ fields: JSONValue?, _ system: SystemValues) -> [UInt8]? {
        guard index.type == type, id <= builtTo else { return nil }
        return index.key(fields, system)
    }

    func entry(_ key: [UInt8], _ record: Int64) -> [SQLValue] { [.int(id), .blob(key), .int(record)] }
}
