import Predicates

/// A predicate as the index sees it: tests, and for each of them under which keys a subscription may be put.
///
/// Kept and filled again for each subscription, for its memory.
struct Shape {
    /// One thing of which a record must have some for a predicate to hold.
    enum Key: Equatable {
        case value(Columns.Number, UInt32)
        case interval(Columns.Number, low: UInt32, high: UInt32)
    }

    /// Keys of which every record that satisfies the predicate has one.
    struct Cover {
        var keys: Range<Int>
        /// The test that says the same; nil where none does.
        var test: Int?
        /// How likely a record is to have one of the keys; a guess.
        var likelihood: Double
    }

    private(set) var tests: [Test] = []
    private(set) var covers: [Cover] = []
    private(set) var keys: [Key] = []
    /// Whether a record that passes all tests satisfies the predicate.
    private(set) var isCertain = true
    /// Whether no record satisfies it.
    private(set) var isNever = false
    /// Whether it asks for something, and no cover says more than that a field is there.
    private(set) var isScanned = false

    /// Of what a longer predicate asks the rest is left to it.
    private static let countMax = 32

    /// A cover that says that a field is there, and no more.
    private static let presence = 0.9

    /// All covers, a bit for each; of more than 64 the first.
    var allCovers: UInt64 { covers.count < 64 ? 1 << UInt64(covers.count) - 1 : .max }

    /// The rarest to be true first; no more than an entry has room for, and one.
    ///
    /// - Parameter said: Those left out, a bit for each.
    func tests(but said: UInt64) -> [Test] {
        var picked: [(index: Int, likelihood: Double)] = []
        picked.reserveCapacity(Entry.testsMax + 2)
        for index in tests.indices where said & 1 << UInt64(index) == 0 {
            let likelihood = likelihood(ofTest: index)
            picked.insert((index, likelihood), at: picked.firstIndex { $0.likelihood > likelihood } ?? picked.count)
            if picked.count > Entry.testsMax + 1 { picked.removeLast() }
        }
        return picked.map { tests[$0.index] }
    }

    private func likelihood(ofTest index: Int) -> Double {
        covers.first { $0.test == index }?.likelihood ?? Shape.presence
    }

    /// Whether a test is of a range and asks no more than whether a number lies in it.
    func isExactRange(_ index: Int) -> Bool { index < 64 && tests[index].operation == .range }

    /// Adds a test that is no clause's.
    mutating func addOther(_ test: Test) { tests.append(test) }

    /// Something is asked that no test says.
    mutating func leaveRest() { isCertain = false }

    mutating func clear() {
        tests.removeAll(keepingCapacity: true)
        covers.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        (isCertain, isNever, isScanned) = (true, false, false)
    }
}

extension Shape {
    mutating func read(
        _ predicate: RecordPredicate, _ columns: Columns, _ values: ValueTable,
        _ names: inout SymbolTable
    ) {
        if predicate.isNever { isNever = true }
        for clause in predicate.clauses {
            guard covers.count < Shape.countMax else {
                isCertain = false
                break
            }
            var reading = ClauseReading(clause, names.intern(clause.subject))
            reading.read(columns, values)
            add(reading, columns, values)
        }
        if !predicate.alternatives.isEmpty { isCertain = false }
        for alternative in predicate.alternatives where covers.count < Shape.countMax {
            add(alternative, columns, values, &names)
        }
        isScanned =
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

    /// - Returns: Where it stands: two ranges of one column are one test.
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
            // Texts start with few of all possible bytes.
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
    /// Puts a subscription under the keys of each branch, where each branch has some.
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

    /// Adds the keys of a condition; nil when it has none.
    private func collect(
        _ condition: Condition, _ keys: inout [Key]?, _ columns: Columns, _ values: ValueTable,
        _ names: inout SymbolTable
    ) {
        switch condition {
        case .clause(let clause):
            var reading = ClauseReading(clause, names.intern(clause.subject))
            reading.read(columns, values)
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
    /// A field's name; what is no field has no number of its own.
    fileprivate mutating func intern(_ subject: Clause.Subject) -> Int32 {
        if case .field(let name) = subject { intern(name) } else { 0 }
    }
}
