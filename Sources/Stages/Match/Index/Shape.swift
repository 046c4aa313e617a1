import Predicates

/// A predicate in the form that the subscription index uses: the tests of the predicate, and the keys under which the
/// index can store the subscription.
///
/// The index uses one shape for all subscriptions, one after the other, so that the shape's memory is reused.
struct Shape {
    /// A number in a column, or an interval of numbers.
    enum Key: Equatable {
        case value(Columns.Number, UInt32)
        case interval(Columns.Number, low: UInt32, high: UInt32)
    }

    /// A set of keys. Every record that satisfies the predicate has at least one of these keys.
    struct Cover {
        /// A range of ``Shape/keys``.
        var keys: Range<Int>
        /// The index of a test that requires the same as the cover; nil if there is no such test.
        var test: Int?
        /// The estimated probability that a record has one of the keys.
        var likelihood: Double
    }

    private(set) var tests: [Test] = []
    private(set) var covers: [Cover] = []
    private(set) var keys: [Key] = []
    /// Whether the tests check everything: the predicate, and the zone's owner if the subscription names an owner.
    private(set) var isCertain = true
    /// Whether the predicate is false for every record.
    private(set) var isNever = false
    /// Whether the predicate has a condition, but the index can use no part of it: there is no cover, or every cover
    /// includes a key that says only that a field has a value.
    private(set) var isUnindexed = false

    /// Once there are this many covers, further clauses add no covers and no tests, so the predicate itself must be
    /// evaluated. The last clause that is read may add several covers, so there can be more covers than this.
    private static let enoughCovers = 32

    /// The likelihood that a field has a value.
    private static let presence = 0.9

    /// A bit for each of the first 64 covers.
    var allCovers: UInt64 { covers.count < 64 ? 1 << UInt64(covers.count) - 1 : .max }

    /// The tests that are least likely to pass, sorted by likelihood. An entry has room for ``Entry/testsMax`` tests;
    /// the result may have one test more. This extra test shows that the tests in the entry are not enough to be
    /// certain.
    ///
    /// - Parameter used: A bit for each test to leave out.
    func tests(without used: UInt64) -> [Test] {
        var picked: [(index: Int, likelihood: Double)] = []
        picked.reserveCapacity(Entry.testsMax + 2)
        for index in tests.indices where used & 1 << UInt64(index) == 0 {
            let likelihood = likelihood(ofTest: index)
            picked.insert((index, likelihood), at: picked.firstIndex { $0.likelihood > likelihood } ?? picked.count)
            if picked.count > Entry.testsMax + 1 { picked.removeLast() }
        }
        return picked.map { tests[$0.index] }
    }

    private func likelihood(ofTest index: Int) -> Double {
        covers.first { $0.test == index }?.likelihood ?? Shape.presence
    }

    /// Whether the test is a range test that every number in the range passes for certain. False for tests from index
    /// 64 on, which have no bit in a set of tests.
    func isExactRange(_ index: Int) -> Bool { index < 64 && tests[index].operation == .range }

    /// Adds a test that belongs to no clause.
    mutating func append(_ test: Test) { tests.append(test) }

    /// Records that the subscription has a condition that no test checks, such as the owner of a zone.
    mutating func setUncertain() { isCertain = false }

    mutating func clear() {
        tests.removeAll(keepingCapacity: true)
        covers.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        (isCertain, isNever, isUnindexed) = (true, false, false)
    }
}

extension Shape {
    mutating func read(
        _ predicate: RecordPredicate, _ columns: Columns, _ values: ValueTable,
        _ names: inout SymbolTable
    ) {
        if predicate.isNever { isNever = true }
        for clause in predicate.clauses {
            guard covers.count < Shape.enoughCovers else {
                isCertain = false
                break
            }
            add(ClauseReading(clause, names.intern(clause.subject), columns, values), columns, values)
        }
        if !predicate.alternatives.isEmpty { isCertain = false }
        for alternative in predicate.alternatives where covers.count < Shape.enoughCovers {
            add(alternative, columns, values, &names)
        }
        isUnindexed =
            !isNever && !(predicate.clauses.isEmpty && predicate.alternatives.isEmpty)
            && covers.allSatisfy { $0.keys.contains { keys[$0].isPresence(columns) } }
    }

    private mutating func add(_ reading: ClauseReading, _ columns: Columns, _ values: ValueTable) {
        if reading.isNever { isNever = true }
        if !reading.isCertain { isCertain = false }
        for part in reading.parts {
            var test = part.test.map { _ in tests.count }
            if let new = part.test { test = add(new) }
            add(part.keys, test: test, columns, values)
        }
    }

    /// Adds a test, or narrows the range test of the same column.
    ///
    /// - Returns: The index of the test.
    private mutating func add(_ test: Test) -> Int {
        if test.isRange, let same = tests.firstIndex(where: { $0.column == test.column && $0.isRange }) {
            tests[same].narrow(to: test)
            if tests[same].low > tests[same].high { isNever = true }
            return same
        }
        tests.append(test)
        return tests.count - 1
    }

    private mutating func add(_ new: [Key], test: Int?, _ columns: Columns, _ values: ValueTable) {
        guard !new.isEmpty else { return }
        if case .interval(let column, let low, let high) = new[0], columns.aspect(column).isNumber {
            columns.addBounds(of: column, low, high)
        }
        if let test, case .interval(let column, _, _) = new[0],
            let same = covers.firstIndex(where: { $0.test == test && keys[$0.keys.lowerBound].isInterval })
        {
            let merged = tests[test]
            keys[covers[same].keys.lowerBound] = .interval(column, low: merged.low, high: merged.high)
            covers[same].likelihood = Shape.likelihood(keys[covers[same].keys.lowerBound], columns, values)
            return
        }
        covers.append(cover(new, test: test, columns, values))
    }

    private mutating func cover(_ new: [Key], test: Int?, _ columns: Columns, _ values: ValueTable) -> Cover {
        let start = keys.count
        for key in new where !keys[start...].contains(key) { keys.append(key) }
        let likelihood = new.reduce(0) { $0 + Shape.likelihood($1, columns, values) }
        return Cover(keys: start..<keys.count, test: test, likelihood: likelihood)
    }

    private static func likelihood(_ key: Key, _ columns: Columns, _ values: ValueTable) -> Double {
        switch key {
        case .value(let column, let value):
            if columns.aspect(column) == .present { return presence }
            return min(Double(values.uses(of: value) + 1) / Double(columns.uses(of: column) + 2), 0.8)
        case .interval(let column, let low, let high):
            if columns.aspect(column).isNumber { return columns.share(of: column, low, high) }
            // Most strings start with one of a few bytes, so this interval has more strings than its length suggests.
            return min(0.8, max(Double(high - min(low, high)) / 0x1p29, 0.002))
        }
    }
}

extension Shape.Key {
    var isInterval: Bool {
        if case .interval = self { true } else { false }
    }

    fileprivate func isPresence(_ columns: Columns) -> Bool {
        if case .value(let column, _) = self { columns.aspect(column) == .present } else { false }
    }
}

// MARK: - Alternatives

extension Shape {
    /// Adds a cover with the keys of all branches of a condition. Adds no cover if the keys of a branch are not known.
    private mutating func add(
        _ alternative: Condition, _ columns: Columns, _ values: ValueTable,
        _ names: inout SymbolTable
    ) {
        var found: [Key]? = []
        collect(alternative, &found, columns, values, &names)
        guard let found else { return }
        if found.isEmpty { isNever = true }
        covers.append(cover(found, test: nil, columns, values))
    }

    /// Adds the keys of a condition to `keys`; adds none if the condition is never true. Sets `keys` to nil if no keys
    /// of the condition are known.
    private func collect(
        _ condition: Condition, _ keys: inout [Key]?, _ columns: Columns, _ values: ValueTable,
        _ names: inout SymbolTable
    ) {
        switch condition {
        case .clause(let clause):
            let reading = ClauseReading(clause, names.intern(clause.subject), columns, values)
            if reading.isNever { return }
            let best = reading.parts.map(\.keys).filter { !$0.isEmpty }.min { left, right in
                Shape.likelihood(left, columns, values) < Shape.likelihood(right, columns, values)
            }
            keys = best.flatMap { best in keys.map { $0 + best } }
        case .any(let parts):
            for part in parts { collect(part, &keys, columns, values, &names) }
        case .all(let parts):
            var best: [Key]?
            for part in parts {
                var own: [Key]? = []
                collect(part, &own, columns, values, &names)
                guard let own else { continue }
                if best.map({ Shape.likelihood(own, columns, values) < Shape.likelihood($0, columns, values) }) ?? true
                {
                    best = own
                }
            }
            keys = best.flatMap { best in keys.map { $0 + best } }
        }
    }

    private static func likelihood(_ keys: [Key], _ columns: Columns, _ values: ValueTable) -> Double {
        keys.reduce(0) { $0 + likelihood($1, columns, values) }
    }
}

extension SymbolTable {
    /// The number of a field's name; 0 for other subjects.
    fileprivate mutating func intern(_ subject: Clause.Subject) -> Int32 {
        if case .field(let name) = subject { intern(name) } else { 0 }
    }
}
