import GRDB
import Predicates

/// The numbers of rows at which a search asks for an index or changes its method. The results do not depend on these
/// limits.
package struct SearchLimits: Sendable {
    /// A search of one zone that looks at more rows than this asks for an index.
    var rowsWithoutIndex = 1_000
    /// If an index on a compared field finds at most this many records, they are sorted in memory, even if the index
    /// on the first sort key has the wanted order.
    var rowsToSort = 2_000
    /// How many record IDs a search may keep in memory. An index on a compared field is not used if it leaves more
    /// records than this.
    var candidatesInMemory = 50_000

    package init() {}
}

/// Finds the first matching records of one zone.
struct ZoneSearch {
    let db: ReadConnection
    let query: RecordQuery
    let zone: Int64
    let now: Int64
    private let limits: SearchLimits
    /// The IDs of the complete indexes on the record type.
    private let indexIDs: [FieldIndex: Int64]
    private let recordByID: PreparedStatement
    /// The number of records and index entries that the search has read.
    private var examined = 0

    /// A comparison that can use an index, and about how many records the index leaves.
    private struct Comparison {
        let index: Int64
        let subject: Clause.Subject
        let ranges: [KeyRange]
        let count: Int
    }

    /// The part of an index to walk along, in the order of the query's first key.
    private struct Walk {
        let index: Int64
        /// The bytes with which the keys of this part begin: empty for the whole index.
        var prefix: [UInt8] = []
        /// The IDs of the records to look at; nil for all records of this part.
        var candidates: [Int64]?
    }

    init(_ query: RecordQuery, zone: Int64, now: Int64, _ limits: SearchLimits, _ db: ReadConnection) throws {
        (self.db, self.query, self.zone, self.now, self.limits) = (db, query, zone, now, limits)
        let known = try StoredIndex.all(zone: zone, type: query.recordType, db).filter(\.isComplete)
        indexIDs = Dictionary(known.map { ($0.index, $0.id) }) { first, _ in first }
        recordByID = try db.prepared(
            "SELECT \(RecordRow.sql) FROM records WHERE id = ? AND zone = ? AND fields IS NOT NULL")
    }

    /// Looks for matching records, and offers their positions to `found`.
    ///
    /// - Returns: The missing indexes that would have made the search faster. Empty if no index is missing, or if the
    ///   search looked at few rows.
    mutating func run(with matcher: inout RecordMatcher, into found: inout FirstPositions) throws -> [FieldIndex] {
        let narrowest = try narrowest()
        if let narrowest, !walksInstead(of: narrowest) {
            try look(at: candidates(narrowest), &matcher, &found)
        } else if let walk = try bestWalk(narrowest) {
            try self.walk(walk, &matcher, &found)
        } else {
            try scan(&matcher, &found)
        }
        return examined > limits.rowsWithoutIndex ? missingIndexes(narrowest) : []
    }

    // MARK: Indexes

    private func indexID(_ subject: Clause.Subject, then second: Clause.Subject? = nil) -> Int64? {
        indexIDs[FieldIndex(zone: zone, type: query.recordType, subject: subject, second: second)]
    }

    /// The subject of the query's first sort key; nil if no index has the order of the key.
    private var sortSubject: Clause.Subject? { query.sort.first.flatMap { $0.centre == nil ? $0.subject : nil } }

    /// The comparisons for equality with one value, which an index on two fields can use. The narrowest one comes first.
    private func equalities(_ narrowest: Comparison?) -> [(subject: Clause.Subject, key: [UInt8])] {
        let found = query.predicate.clauses.compactMap { clause -> (subject: Clause.Subject, key: [UInt8])? in
            guard clause.comparator == .equals, let range = KeyRange.ranges(clause, now: now)?.first else { return nil }
            return (clause.subject, range.lower)
        }
        return found.filter { $0.subject == narrowest?.subject } + found.filter { $0.subject != narrowest?.subject }
    }

    /// Whether walking along an index is better than looking at all records that the comparison leaves. It is always
    /// better if a part of an index has only these records, in the order of the first sort key: the walk may end early.
    private func walksInstead(of narrowest: Comparison) -> Bool {
        guard let sortSubject else { return false }
        let pairs = equalities(narrowest).filter { indexID($0.subject, then: sortSubject) != nil }
        if pairs.contains(where: { $0.subject == narrowest.subject }) { return true }
        return narrowest.count > limits.rowsToSort && (!pairs.isEmpty || indexID(sortSubject) != nil)
    }

    /// The walk that reads the fewest entries: among the records with one value of a field if there is an index on this
    /// field and the first sort key, else among all records of the type. Nil if no index has the order of the key.
    private func bestWalk(_ narrowest: Comparison?) throws -> Walk? {
        guard let sortSubject else { return nil }
        for (subject, key) in equalities(narrowest) {
            guard let index = indexID(subject, then: sortSubject) else { continue }
            let needsCandidates = subject != narrowest?.subject
            return Walk(
                index: index, prefix: FieldIndex.prefix(key),
                candidates: needsCandidates ? try narrowest.map { try candidates($0) } : nil)
        }
        return try indexID(sortSubject).map {
            Walk(index: $0, candidates: try narrowest.map { try candidates($0) })
        }
    }

    /// The indexes that this search could use, but that do not exist or are not complete. First come the indexes on one
    /// field. An index on two fields is returned only if none of these is missing.
    private func missingIndexes(_ narrowest: Comparison?) -> [FieldIndex] {
        var subjects = query.predicate.clauses.filter { KeyRange.ranges($0, now: now) != nil }.map(\.subject)
        if let sortSubject { subjects.append(sortSubject) }
        let missing = subjects.filter { indexID($0) == nil }
        guard missing.isEmpty, let sortSubject, let first = equalities(narrowest).first?.subject else {
            return missing.map { FieldIndex(zone: zone, type: query.recordType, subject: $0) }
        }
        let pair = FieldIndex(zone: zone, type: query.recordType, subject: first, second: sortSubject)
        return indexIDs[pair] == nil ? [pair] : []
    }

    /// The most selective comparison. Nil if no comparison can use an index, or if each that can leaves more than
    /// ``SearchLimits/candidatesInMemory`` records.
    private func narrowest() throws -> Comparison? {
        var best: Comparison?
        for clause in query.predicate.clauses {
            guard let index = indexID(clause.subject), let ranges = KeyRange.ranges(clause, now: now) else { continue }
            let limit = best?.count ?? limits.candidatesInMemory + 1
            let count = try count(ranges, index, upTo: limit)
            if count < limit { best = Comparison(index: index, subject: clause.subject, ranges: ranges, count: count) }
        }
        return best
    }

    /// The IDs of the records that the comparison leaves, in ascending order.
    private func candidates(_ comparison: Comparison) throws -> [Int64] {
        var candidates: [Int64] = []
        candidates.reserveCapacity(comparison.count)
        let entries = try db.prepared("SELECT record FROM fieldEntries WHERE list = ? AND key >= ? AND key < ?")
        for range in comparison.ranges {
            try entries.each([.int(comparison.index), .blob(range.lower), .blob(range.upper)]) {
                candidates.append($0.int(0))
                return true
            }
        }
        return candidates.sorted()
    }

    private func count(_ ranges: [KeyRange], _ index: Int64, upTo limit: Int) throws -> Int {
        let entries = try db.prepared(
            """
            SELECT count(*) FROM (SELECT 1 FROM fieldEntries WHERE list = ? AND key >= ? AND key < ? LIMIT ?)
            """)
        var count = 0
        for range in ranges where count < limit {
            count +=
                try entries.first([
                    .int(index), .blob(range.lower), .blob(range.upper), .int(Int64(limit - count)),
                ]) { Int($0.int(0)) } ?? 0
        }
        return count
    }

    // MARK: Methods of searching

    /// Looks at the records of the type, in the order of their creation. With sort keys, looks at all of them. Without
    /// sort keys, begins after the marker and ends when enough records are found.
    private mutating func scan(_ matcher: inout RecordMatcher, _ found: inout FirstPositions) throws {
        let start = query.sort.isEmpty ? found.start?.id ?? 0 : 0
        try db.prepared(
            """
            SELECT \(RecordRow.sql) FROM records WHERE zone = ? AND type = ? AND fields IS NOT NULL AND id > ?
                ORDER BY id
            """
        ).each([.int(zone), .text(query.recordType), .int(start)]) { row in
            let record = RecordRow(row: row)
            if query.sort.isEmpty, found.isClosed(toFirstKey: [], id: record.id) { return false }
            try offer(record, &matcher, &found)
            return true
        }
    }

    /// Looks at the records with these IDs, in the order of the IDs.
    private mutating func look(
        at candidates: [Int64], _ matcher: inout RecordMatcher, _ found: inout FirstPositions
    ) throws {
        for number in candidates {
            if query.sort.isEmpty {
                if let start = found.start?.id, number <= start { continue }
                if found.isClosed(toFirstKey: [], id: number) { return }
            }
            try look(at: number, &matcher, &found)
        }
    }

    /// Looks at the records of a part of an index, in the order of the first sort key. If the walk has candidates and
    /// reads too many entries, it gives up. Then all candidates are looked at and sorted.
    private mutating func walk(
        _ walk: Walk, _ matcher: inout RecordMatcher, _ found: inout FirstPositions
    ) throws {
        let isAscending = query.order.isAscending
        let (key, id) = walkStart(found.start, isAscending)
        let sign = isAscending ? (">", "key, record") : ("<", "key DESC, record DESC")
        let (before, last) = (found, walk.candidates.map { examined + 2 * $0.count + limits.rowsToSort })
        var givesUp = false
        try db.prepared(
            """
            SELECT key, record FROM fieldEntries WHERE list = ? AND (key, record) \(sign.0) (?, ?) ORDER BY \(sign.1)
            """
        ).each([.int(walk.index), .blob(walk.prefix + key), .int(id)]) { row in
            let (key, number) = (row.bytes(0), row.int(1))
            guard key.starts(with: walk.prefix) else { return false }
            if found.isClosed(toFirstKey: Array(key.dropFirst(walk.prefix.count)), id: number) { return false }
            examined += 1
            givesUp = last.map { examined > $0 } ?? false
            if givesUp { return false }
            if let candidates = walk.candidates, !candidates.sortedContains(number) { return true }
            try look(at: number, &matcher, &found)
            return true
        }
        guard givesUp, let candidates = walk.candidates else { return }
        found = before
        try look(at: candidates, &matcher, &found)
    }

    /// The entry after which reading the index begins. Without a marker, reading begins at the first entry. With one
    /// sort key, reading begins after the marker's entry. With more sort keys, reading begins before all entries with
    /// the marker's first key, because the other keys may put the records of these entries after the marker.
    private func walkStart(_ start: RecordPosition?, _ isAscending: Bool) -> ([UInt8], Int64) {
        guard let start else { return isAscending ? ([], .min) : ([0xFF], .max) }
        guard query.sort.count > 1 else { return (start.keys[0], start.id) }
        return (start.keys[0], isAscending ? .min : .max)
    }

    private mutating func look(
        at number: Int64, _ matcher: inout RecordMatcher, _ found: inout FirstPositions
    ) throws {
        try recordByID.each([.int(number), .int(zone)]) {
            try offer(RecordRow(row: $0), &matcher, &found)
            return true
        }
    }

    private mutating func offer(
        _ record: RecordRow, _ matcher: inout RecordMatcher, _ found: inout FirstPositions
    ) throws {
        examined += 1
        if let position = try matcher.position(of: record) { found.offer(position) }
    }
}

extension [Int64] {
    /// Whether an array that is in ascending order contains the number.
    fileprivate func sortedContains(_ number: Int64) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low] == number
    }
}
