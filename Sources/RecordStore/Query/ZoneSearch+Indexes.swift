import Predicates

/// Chooses the indexes for a search.
extension ZoneSearch {
    private func indexID(_ subject: Clause.Subject, then second: Clause.Subject? = nil) -> Int64? {
        indexIDs[FieldIndex(zone: zone, type: query.recordType, subject: subject, second: second)]
    }

    /// The subject of the query's first sort key. Nil if the query has no sort keys, or if the first one sorts by
    /// distance, for which there are no indexes.
    private var sortSubject: Clause.Subject? { query.sort.first.flatMap { $0.centre == nil ? $0.subject : nil } }

    /// The comparisons for equality with one value, which an index on two fields can use. The comparisons of the field
    /// that `narrowest` compares come first.
    private func equalities(_ narrowest: Comparison?) -> [(subject: Clause.Subject, key: [UInt8])] {
        let found = query.predicate.clauses.compactMap { clause -> (subject: Clause.Subject, key: [UInt8])? in
            guard clause.comparator == .equals, let range = KeyRange.ranges(clause, now: now)?.first else { return nil }
            return (clause.subject, range.lower)
        }
        return found.filter { $0.subject == narrowest?.subject } + found.filter { $0.subject != narrowest?.subject }
    }

    /// Whether walking along an index is better than looking at all records that the comparison leaves. It is always
    /// better if a part of an index has only these records, in the order of the first sort key: the walk may end early.
    func walksInstead(of narrowest: Comparison) -> Bool {
        guard let sortSubject else { return false }
        let pairs = equalities(narrowest).filter { indexID($0.subject, then: sortSubject) != nil }
        if pairs.contains(where: { $0.subject == narrowest.subject }) { return true }
        return narrowest.count > limits.rowsToSort && (!pairs.isEmpty || indexID(sortSubject) != nil)
    }

    /// The walk that reads the fewest entries. If the query requires one value of a field, and there is an index on
    /// this field and the first sort key, the walk reads only the entries with this value. Otherwise it reads the whole
    /// index on the first sort key. Nil if this index does not exist either.
    func bestWalk(_ narrowest: Comparison?) throws -> Walk? {
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

    /// The indexes that this search could use, but that do not exist or are not complete. If any index on one field is
    /// missing, only indexes on one field are returned. Otherwise the result may be one index on two fields.
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

    /// The indexes that the search may ask for. Empty if no index is missing, or if the type or the database has as
    /// many indexes as it may have.
    func obtainableIndexes(_ narrowest: Comparison?) throws -> [FieldIndex] {
        let missing = missingIndexes(narrowest).prefix(limits.indexesOfSearchMax)
        guard !missing.isEmpty, try limits.allowMoreIndexes(on: query.recordType, in: zone, db) else { return [] }
        return Array(missing)
    }

    /// The comparison whose index leaves the fewest records. Nil if no comparison can use an index, or if every such
    /// index leaves more than ``SearchLimits/candidatesInMemory`` records.
    func narrowest() throws -> Comparison? {
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
    func candidates(_ comparison: Comparison) throws -> [Int64] {
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
}

extension SearchLimits {
    /// Whether the record type and the database of its zone may have more indexes. Indexes that are not complete count
    /// too.
    func allowMoreIndexes(on type: String, in zone: Int64, _ db: some SQLConnection) throws -> Bool {
        guard try StoredIndex.all(zone: zone, type: type, db).count < indexesOfTypeMax else { return false }
        let ofDatabase = try db.prepared(
            """
            SELECT count(*) FROM fieldIndexes i JOIN zones z ON z.id = i.zone
                WHERE z.database = (SELECT database FROM zones WHERE id = ?)
            """
        ).first([.int(zone)]) { Int($0.int(0)) }
        return ofDatabase ?? 0 < indexesOfDatabaseMax
    }
}
