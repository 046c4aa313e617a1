import Events
import JSON
import Predicates

/// Decides whether rows match a query, and makes the ``RecordPosition``s of the matching rows.
struct RecordMatcher: ~Copyable {
    private let predicate: RecordPredicate
    private let sort: [SortKey]
    private let now: Int64
    /// False only if it is certain that the predicate compares no system fields.
    private let looksAtSystem: Bool
    private let db: ReadConnection
    private var parser = JSONParser(limits: StoredJSON.limits)
    private var systemParser = JSONParser()
    private var buffer = ByteBuffer()

    /// - Parameter now: The value of `now()`, in milliseconds since 1970.
    init(_ query: RecordQuery, now: Int64, _ db: ReadConnection) {
        (predicate, sort, self.now, self.db) = (query.predicate, query.sort, now, db)
        looksAtSystem =
            !query.predicate.alternatives.isEmpty
            || query.predicate.clauses.contains { if case .system = $0.subject { true } else { false } }
    }

    /// The record's position; nil if the predicate does not match the record.
    ///
    /// - Throws: ``ReadStop``
    mutating func position(of row: RecordRow) throws -> RecordPosition? {
        // Parsing takes about one unit of work for each byte of the fields, and a fixed amount. One comparison takes at
        // most about as long as parsing all fields, so it counts as the same work.
        let (work, db) = (row.fields.count + Self.fixedWork, db)
        try db.spend(work)
        let fields = try parser.parse(row.fields)
        let system = looksAtSystem || !sort.isEmpty ? row.system : nil
        let record = try looksAtSystem ? system.map { try dictionary($0) } : nil
        guard try predicate.matches(fields, of: record, now: now, check: { try db.spend(work) }) else { return nil }
        return RecordPosition(keys: system.map { system in sort.map { $0.key(fields, system) } } ?? [], id: row.id)
    }

    private static let fixedWork = 100

    /// A record dictionary with the system fields at which predicates look.
    private mutating func dictionary(_ system: SystemValues) throws -> JSONValue {
        buffer.removeAll()
        buffer.object {
            $0.append(.recordName, system.name)
            system.append(to: &$0)
        }
        return try systemParser.parse(buffer.bytes)
    }
}
