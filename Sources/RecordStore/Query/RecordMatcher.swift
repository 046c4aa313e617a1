import Events
import JSON
import Predicates

/// Decides whether rows match a query, and makes the ``RecordPosition``s of the matching rows.
struct RecordMatcher: ~Copyable {
    private let predicate: RecordPredicate
    private let sort: [SortKey]
    private let now: Int64
    /// Whether the predicate may look at system fields.
    private let looksAtSystem: Bool
    private var parser = JSONParser(limits: StoredJSON.limits)
    private var systemParser = JSONParser()
    private var buffer = ByteBuffer()

    /// - Parameter now: The value of `now()`, in milliseconds since 1970.
    init(_ query: RecordQuery, now: Int64) {
        (predicate, sort, self.now) = (query.predicate, query.sort, now)
        looksAtSystem =
            !query.predicate.alternatives.isEmpty
            || query.predicate.clauses.contains { if case .system = $0.subject { true } else { false } }
    }

    /// The record's position; nil if the predicate does not match the record.
    mutating func position(of row: RecordRow) throws -> RecordPosition? {
        let fields = try parser.parse(row.fields)
        let system = looksAtSystem || !sort.isEmpty ? row.system : nil
        let record = try looksAtSystem ? system.map { try dictionary($0) } : nil
        guard predicate.matches(fields, of: record, now: now) else { return nil }
        return RecordPosition(keys: system.map { system in sort.map { $0.key(fields, system) } } ?? [], id: row.id)
    }

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
