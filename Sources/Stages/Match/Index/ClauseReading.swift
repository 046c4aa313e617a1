import Predicates

/// A clause as tests and keys of the index.
struct ClauseReading {
    struct Part {
        var test: Test?
        /// Of which a record must have one for the clause to hold; empty where none is known.
        var keys: [Shape.Key]
    }

    private let clause: Clause
    private let name: Int32
    private(set) var parts: [Part] = []
    /// Whether a record that passes the tests satisfies the clause.
    private(set) var isCertain = true
    /// Whether no record satisfies the clause.
    private(set) var isNever = false

    /// - Parameter name: The number of the field's name.
    init(_ clause: Clause, _ name: Int32) { (self.clause, self.name) = (clause, name) }

    mutating func read(_ columns: inout Columns, _ values: inout ValueTable) {
        if clause.isNegated { return readNegated(&columns, &values) }
        switch clause.comparator {
        case .equals, .isIn: readValues(&columns, &values, exact: .value, folded: .folded)
        case .listContains, .listContainsAny: readValues(&columns, &values, exact: .member, folded: .foldedMember)
        case .listContainsAll: readAllMembers(&columns, &values)
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: readRange(&columns)
        case .beginsWith: readPrefix(&columns, .start)
        case .listMemberBeginsWith: readPrefix(&columns, .memberStart)
        case .exists: readPresence(&columns, isTest: true)
        case .isNear: readCircle(&columns, &values)
        case .containsAllWords, .containsAnyWord: readWords(&columns, &values)
        case .every(let test): readEvery(test, &columns, &values)
        }
    }

    // MARK: Presence

    /// All that is known is that the field must be there.
    private mutating func readPresence(_ columns: inout Columns, isTest: Bool = false) {
        if !isTest { isCertain = false }
        guard clause.subject != .allText, let column = columns.column(clause.subject, name, .present) else {
            isCertain = false
            return
        }
        parts.append(Part(test: isTest ? .equal(column, 1) : nil, keys: [.value(column, 1)]))
    }

    // MARK: Values

    /// The numbers of the clause's values; nil where bytes, which are exact, stand among texts that are not.
    private func numbers(_ values: inout ValueTable) -> [UInt32]? {
        var numbers: [UInt32] = []
        numbers.reserveCapacity(clause.values.count)
        for value in clause.values {
            if clause.foldsCase, case .bytes = value { return nil }
            guard let number = values.intern(value) else { return nil }
            numbers.append(number)
        }
        return numbers
    }

    private mutating func readValues(
        _ columns: inout Columns, _ values: inout ValueTable, exact: Aspect, folded: Aspect
    ) {
        guard !clause.values.isEmpty else {
            isNever = true
            return
        }
        guard let numbers = numbers(&values),
            let column = columns.column(clause.subject, name, clause.foldsCase ? folded : exact)
        else { return readPresence(&columns) }
        columns.addUse(of: column)
        let test = exact == .member ? memberTest(column, numbers, &values) : valueTest(column, numbers, &values)
        parts.append(Part(test: test, keys: Set(numbers).sorted().map { .value(column, $0) }))
    }

    private func valueTest(_ column: Columns.Number, _ numbers: [UInt32], _ values: inout ValueTable) -> Test {
        switch numbers.count {
        case 1: .equal(column, numbers[0])
        case 2: Test(column: column, operation: .pair, low: numbers[0], high: numbers[1])
        default: Test(column: column, operation: .set, low: values.set(numbers), high: 0)
        }
    }

    private func memberTest(_ column: Columns.Number, _ numbers: [UInt32], _ values: inout ValueTable) -> Test {
        numbers.count == 1
            ? Test(column: column, operation: .member, low: numbers[0], high: 0)
            : Test(column: column, operation: .memberSet, low: values.set(numbers), high: 0)
    }

    private mutating func readAllMembers(_ columns: inout Columns, _ values: inout ValueTable) {
        guard !clause.values.isEmpty, let numbers = numbers(&values),
            let column = columns.column(clause.subject, name, clause.foldsCase ? .foldedMember : .member)
        else { return readPresence(&columns) }
        columns.addUse(of: column)
        for number in Set(numbers).sorted() {
            parts.append(Part(test: memberTest(column, [number], &values), keys: [.value(column, number)]))
        }
    }

    private mutating func readNegated(_ columns: inout Columns, _ values: inout ValueTable) {
        let isValue = clause.comparator == .equals || clause.comparator == .isIn
        let kinds = Set(clause.values.map(\.kind))
        guard isValue, kinds.count == 1, let kind = kinds.first, kind != .other, let numbers = numbers(&values),
            let column = columns.column(clause.subject, name, clause.foldsCase ? .folded : .value)
        else { return readPresence(&columns) }
        let test =
            numbers.count == 1
            ? Test(column: column, operation: .not, low: numbers[0], high: UInt32(kind.rawValue))
            : Test(column: column, operation: .notSet, low: values.set(numbers), high: UInt32(kind.rawValue))
        parts.append(Part(test: test, keys: []))
        if let present = columns.column(clause.subject, name, .present) {
            parts.append(Part(test: nil, keys: [.value(present, 1)]))
        }
    }

    // MARK: Ranges

    private mutating func readRange(_ columns: inout Columns) {
        switch clause.values[0] {
        case .integer(let number): readRange(&columns, .number, OrderedKey(number))
        case .double(let number): readRange(&columns, .number, OrderedKey(number))
        case .text(let text):
            let key = text.withUnsafeBytes { OrderedKey($0) }
            readRange(&columns, clause.foldsCase ? .foldedStart : .start, key)
        default: readPresence(&columns)
        }
    }

    private mutating func readRange(_ columns: inout Columns, _ aspect: Aspect, _ bound: OrderedKey) {
        guard let column = columns.column(clause.subject, name, aspect) else { return readPresence(&columns) }
        var (low, high) = (OrderedKey.min, OrderedKey.max)
        switch clause.comparator {
        case .greaterThan: low = bound.isExact ? bound.bits + 1 : bound.bits
        case .greaterThanOrEquals: low = bound.bits
        case .lessThan: high = bound.isExact ? bound.bits - 1 : bound.bits
        default: high = bound.bits
        }
        add(column, bound.isExact ? .range : .fuzzyRange, low, high)
    }

    private mutating func add(
        _ column: Columns.Number, _ operation: Test.Operation, _ low: UInt32, _ high: UInt32, isTest: Bool = true
    ) {
        let test = Test(column: column, operation: operation, low: low, high: high)
        parts.append(Part(test: isTest ? test : nil, keys: [.interval(column, low: low, high: high)]))
    }

    private mutating func readPrefix(_ columns: inout Columns, _ aspect: Aspect) {
        guard case .text(let text) = clause.values[0], let column = columns.column(clause.subject, name, aspect) else {
            return readPresence(&columns)
        }
        let (low, high) = text.withUnsafeBytes { (OrderedKey($0).bits, OrderedKey($0, filler: 0xFF).bits) }
        if aspect.isMany { isCertain = false }
        // Three bytes stand whole in a key.
        add(column, text.count <= 3 ? .range : .fuzzyRange, low, high, isTest: !aspect.isMany)
    }

    // MARK: Places, words, all elements

    private mutating func readCircle(_ columns: inout Columns, _ values: inout ValueTable) {
        guard case .circle(let circle) = clause.values[0],
            let column = columns.column(clause.subject, name, .cell)
        else { return readPresence(&columns) }
        isCertain = false
        let (level, cells) = Grid.cells(circle)
        columns.addGridLevel(level)
        columns.addUse(of: column)
        parts.append(Part(test: nil, keys: cells.map { .value(column, values.intern(.cell, $0)) }))
    }

    private mutating func readWords(_ columns: inout Columns, _ values: inout ValueTable) {
        let words = Set(clause.values.compactMap { values.intern(word: $0) }).sorted()
        guard !words.isEmpty else {
            isNever = true
            return
        }
        guard let column = columns.column(clause.subject, name, .word) else { return readPresence(&columns) }
        columns.addUse(of: column)
        if clause.comparator == .containsAnyWord {
            parts.append(Part(test: memberTest(column, words, &values), keys: words.map { .value(column, $0) }))
        } else {
            for word in words {
                parts.append(Part(test: memberTest(column, [word], &values), keys: [.value(column, word)]))
            }
        }
    }

    private mutating func readEvery(_ test: Clause.Test, _ columns: inout Columns, _ values: inout ValueTable) {
        guard test == .equals || test == .isIn, let numbers = numbers(&values),
            let column = columns.column(clause.subject, name, clause.foldsCase ? .foldedMember : .member)
        else { return readPresence(&columns) }
        isCertain = false
        columns.addUse(of: column)
        let keys = Set(numbers + [ValueTable.emptyList]).sorted()
        parts.append(Part(test: nil, keys: keys.map { .value(column, $0) }))
    }
}

extension FieldValue {
    /// Bytes are compared with texts, as texts.
    fileprivate var kind: Test.Kind {
        switch self {
        case .text, .bytes: .text
        case .integer, .double: .number
        case .reference: .reference
        case .circle: .other
        }
    }
}

extension ValueTable {
    fileprivate mutating func intern(_ value: FieldValue) -> UInt32? {
        switch value {
        case .text(let bytes), .bytes(let bytes): bytes.withUnsafeBytes { intern(.text, $0) }
        case .integer(let number): intern(number)
        case .double(let number): intern(number)
        case .reference(let name): name.withUnsafeBytes { intern(.reference, $0) }
        case .circle: nil
        }
    }

    fileprivate mutating func intern(word: FieldValue) -> UInt32? {
        guard case .text(let bytes) = word else { return nil }
        return bytes.withUnsafeBytes { intern(.word, $0) }
    }
}
