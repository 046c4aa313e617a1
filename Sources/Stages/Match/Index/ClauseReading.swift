import Predicates

/// Translates a clause of a predicate into tests and keys of the subscription index.
struct ClauseReading {
    struct Part {
        var test: Test?
        /// A record for which the clause is true has at least one of these keys; empty if no keys are known.
        var keys: [Shape.Key]
    }

    private let clause: Clause
    private let name: Int32
    private let columns: Columns
    private let values: ValueTable
    private(set) var parts: [Part] = []
    /// Whether the clause is true for every record that passes the tests.
    private(set) var isCertain = true
    /// Whether the clause is false for every record.
    private(set) var isNever = false

    /// - Parameter name: The number of the field's name.
    init(_ clause: Clause, _ name: Int32, _ columns: Columns, _ values: ValueTable) {
        (self.clause, self.name, self.columns, self.values) = (clause, name, columns, values)
        if clause.isNegated { readNegated() } else { read() }
    }

    private mutating func read() {
        switch clause.comparator {
        case .equals, .isIn: readValues(exact: .value, folded: .folded)
        case .listContains, .listContainsAny: readValues(exact: .member, folded: .foldedMember)
        case .listContainsAll: readAllMembers()
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: readRange()
        case .beginsWith: readPrefix(.start)
        case .listMemberBeginsWith: readPrefix(.memberStart)
        case .exists: readPresence(isWholeClause: true)
        case .isNear: readCircle()
        case .containsAllWords, .containsAnyWord: readWords()
        case .every(let test): readEvery(test)
        }
    }

    /// The column for `aspect`, or for `folded` if the clause ignores case. Nil if no further column can be added.
    private func columnNumber(_ aspect: Aspect, _ folded: Aspect? = nil) -> Columns.Number? {
        columns.column(clause.subject, name, clause.foldsCase ? folded ?? aspect : aspect)
    }

    // MARK: Presence

    /// Reads the clause as the condition that the field has a value.
    ///
    /// - Parameter isWholeClause: Whether the clause requires only that the field has a value.
    private mutating func readPresence(isWholeClause: Bool = false) {
        if !isWholeClause { isCertain = false }
        guard clause.subject != .allText, let column = columnNumber(.present) else {
            isCertain = false
            return
        }
        parts.append(Part(test: isWholeClause ? .equal(column, 1) : nil, keys: [.value(column, 1)]))
    }

    // MARK: Values

    /// The numbers of the clause's values in the ``ValueTable``; nil if a value has no number.
    ///
    /// Also nil if the clause ignores case and one of its values is bytes, because bytes are always compared exactly. A
    /// clause with bytes is not certain.
    private mutating func numbers() -> [UInt32]? {
        var numbers: [UInt32] = []
        numbers.reserveCapacity(clause.values.count)
        for value in clause.values {
            if case .bytes = value {
                isCertain = false
                if clause.foldsCase { return nil }
            }
            guard let number = values.intern(value) else { return nil }
            numbers.append(number)
        }
        return numbers
    }

    private mutating func readValues(exact: Aspect, folded: Aspect) {
        guard !clause.values.isEmpty else {
            isNever = true
            return
        }
        guard let numbers = numbers(), let column = columnNumber(exact, folded) else { return readPresence() }
        columns.addUse(of: column)
        let test = exact == .member ? memberTest(column, numbers) : valueTest(column, numbers)
        let keys = numbers.count == 1 ? numbers : Set(numbers).sorted()
        parts.append(Part(test: test, keys: keys.map { .value(column, $0) }))
    }

    private func valueTest(_ column: Columns.Number, _ numbers: [UInt32]) -> Test {
        switch numbers.count {
        case 1: .equal(column, numbers[0])
        case 2: Test(column: column, operation: .pair, low: numbers[0], high: numbers[1])
        default: Test(column: column, operation: .set, low: values.intern(set: numbers), high: 0)
        }
    }

    private func memberTest(_ column: Columns.Number, _ numbers: [UInt32]) -> Test {
        numbers.count == 1
            ? Test(column: column, operation: .member, low: numbers[0], high: 0)
            : Test(column: column, operation: .memberSet, low: values.intern(set: numbers), high: 0)
    }

    private mutating func readAllMembers() {
        guard !clause.values.isEmpty, let numbers = numbers(), let column = columnNumber(.member, .foldedMember) else {
            return readPresence()
        }
        columns.addUse(of: column)
        for number in Set(numbers).sorted() {
            parts.append(Part(test: memberTest(column, [number]), keys: [.value(column, number)]))
        }
    }

    private mutating func readNegated() {
        let isValue = clause.comparator == .equals || clause.comparator == .isIn
        let kinds = Set(clause.values.map(\.kind))
        guard isValue, kinds.count == 1, let kind = kinds.first, kind != .other, let numbers = numbers(),
            let column = columnNumber(.value, .folded)
        else { return readPresence() }
        let test =
            numbers.count == 1
            ? Test(column: column, operation: .not, low: numbers[0], high: UInt32(kind.rawValue))
            : Test(column: column, operation: .notSet, low: values.intern(set: numbers), high: UInt32(kind.rawValue))
        parts.append(Part(test: test, keys: []))
        if let present = columnNumber(.present) {
            parts.append(Part(test: nil, keys: [.value(present, 1)]))
        }
    }

    // MARK: Ranges

    private mutating func readRange() {
        guard let (aspect, bound) = bound, let column = columnNumber(aspect) else { return readPresence() }
        let (low, high) = range(clause.comparator, bound)
        add(column, bound.isExact ? .range : .fuzzyRange, low, high)
    }

    /// The ``OrderedKey`` of the clause's value and the aspect that it is compared with; nil if the value has no such
    /// key.
    private var bound: (aspect: Aspect, key: OrderedKey)? {
        switch clause.values[0] {
        case .integer(let number): (.number, OrderedKey(number))
        case .double(let number): (.number, OrderedKey(number))
        case .text(let text):
            unsafe (clause.foldsCase ? .foldedStart : .start, text.withUnsafeBytes { unsafe OrderedKey($0) })
        default: nil
        }
    }

    private func range(_ comparator: Clause.Comparator, _ bound: OrderedKey) -> (low: UInt32, high: UInt32) {
        switch comparator {
        case .greaterThan: (bound.isExact ? bound.bits + 1 : bound.bits, OrderedKey.max)
        case .greaterThanOrEquals: (bound.bits, OrderedKey.max)
        case .lessThan: (OrderedKey.min, bound.isExact ? bound.bits - 1 : bound.bits)
        default: (OrderedKey.min, bound.bits)
        }
    }

    private mutating func add(
        _ column: Columns.Number, _ operation: Test.Operation, _ low: UInt32, _ high: UInt32, addsTest: Bool = true
    ) {
        let test = Test(column: column, operation: operation, low: low, high: high)
        parts.append(Part(test: addsTest ? test : nil, keys: [.interval(column, low: low, high: high)]))
    }

    private mutating func readPrefix(_ aspect: Aspect) {
        guard case .text(let text) = clause.values[0], let column = columnNumber(aspect) else { return readPresence() }
        let (low, high) = unsafe text.withUnsafeBytes {
            unsafe (OrderedKey($0).bits, OrderedKey($0, filler: 0xFF).bits)
        }
        if aspect.isMany { isCertain = false }
        // A key contains the first three bytes of a text completely, but not the fourth.
        add(column, text.count <= 3 ? .range : .fuzzyRange, low, high, addsTest: !aspect.isMany)
    }

    // MARK: Locations, words and all elements

    private mutating func readCircle() {
        guard case .circle(let circle) = clause.values[0], let column = columnNumber(.cell) else {
            return readPresence()
        }
        isCertain = false
        let (level, cells) = Grid.cells(circle)
        columns.addGridLevel(level)
        columns.addUse(of: column)
        parts.append(Part(test: nil, keys: cells.map { .value(column, values.intern(.cell, $0)) }))
    }

    private mutating func readWords() {
        let words = Set(clause.values.compactMap { values.intern(word: $0) }).sorted()
        guard !words.isEmpty else {
            isNever = true
            return
        }
        guard let column = columnNumber(.word) else { return readPresence() }
        columns.addUse(of: column)
        if clause.comparator == .containsAnyWord {
            parts.append(Part(test: memberTest(column, words), keys: words.map { .value(column, $0) }))
        } else {
            for word in words {
                parts.append(Part(test: memberTest(column, [word]), keys: [.value(column, word)]))
            }
        }
    }

    /// Reads a test that every element of a list must pass. An empty list passes the test too.
    private mutating func readEvery(_ test: Clause.Test) {
        isCertain = false
        guard test == .equals || test == .isIn else { return readEveryInRange(test) }
        guard let numbers = numbers(), let column = columnNumber(.member, .foldedMember) else { return readPresence() }
        columns.addUse(of: column)
        let keys = Set(numbers + [ValueTable.emptyList]).sorted()
        parts.append(Part(test: nil, keys: keys.map { .value(column, $0) }))
    }

    private mutating func readEveryInRange(_ test: Clause.Test) {
        guard let (aspect, low, high) = everyRange(test), let column = columnNumber(aspect),
            let members = columnNumber(.member)
        else { return readPresence() }
        let keys = [.interval(column, low: low, high: high), .value(members, ValueTable.emptyList)] as [Shape.Key]
        parts.append(Part(test: nil, keys: keys))
    }

    private func everyRange(_ test: Clause.Test) -> (aspect: Aspect, low: UInt32, high: UInt32)? {
        guard let bound, let comparator = Clause.Comparator(every: test) else { return nil }
        if comparator == .beginsWith, case .text(let text) = clause.values[0] {
            let high = unsafe text.withUnsafeBytes { unsafe OrderedKey($0, filler: 0xFF).bits }
            return (.firstStart, bound.key.bits, high)
        }
        let (low, high) = range(comparator, bound.key)
        switch bound.aspect {
        case .number: return (.firstNumber, low, high)
        case .start: return (.firstStart, low, high)
        default: return (.firstFoldedStart, low, high)
        }
    }
}

extension Clause.Comparator {
    /// The comparator for a test that compares elements by order or by their beginning; nil for other tests.
    fileprivate init?(every test: Clause.Test) {
        switch test {
        case .lessThan: self = .lessThan
        case .lessThanOrEquals: self = .lessThanOrEquals
        case .greaterThan: self = .greaterThan
        case .greaterThanOrEquals: self = .greaterThanOrEquals
        case .beginsWith: self = .beginsWith
        case .equals, .isIn: return nil
        }
    }
}

extension FieldValue {
    /// The kind of the value. Bytes count as text, because the index compares bytes as strings.
    fileprivate var kind: Test.Kind {
        switch self {
        case .text, .bytes: .text
        case .integer, .double: .number
        case .reference: .reference
        case .circle, .now: .other
        }
    }
}

extension ValueTable {
    fileprivate func intern(_ value: FieldValue) -> UInt32? {
        switch value {
        case .text(let bytes), .bytes(let bytes): unsafe bytes.withUnsafeBytes { unsafe intern(.text, $0) }
        case .integer(let number): intern(number)
        case .double(let number): intern(number)
        case .reference(let name): unsafe name.withUnsafeBytes { unsafe intern(.reference, $0) }
        case .circle, .now: nil
        }
    }

    fileprivate func intern(word: FieldValue) -> UInt32? {
        guard case .text(let bytes) = word else { return nil }
        return unsafe bytes.withUnsafeBytes { unsafe intern(.word, $0) }
    }
}
