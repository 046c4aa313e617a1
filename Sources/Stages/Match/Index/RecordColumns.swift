import Events
import JSON
import Predicates

/// The numbers that the record of the current change has in the ``Columns`` of its record type. Empty between changes.
struct RecordColumns {
    /// The number in each column: 0 for an empty column or an unknown value. For a column whose aspect is
    /// ``Aspect/isMany``, the count of its numbers.
    private let numbers = Slab<UInt32>(repeating: 0, count: Columns.countMax)
    /// For a column whose aspect is ``Aspect/isMany``: the start of its numbers in `many`.
    private let starts = Slab<UInt32>(repeating: 0, count: Columns.countMax)
    private let kinds = Slab<UInt8>(repeating: 0, count: Columns.countMax)
    private let many = Slab<UInt32>()
    /// The columns that are not empty.
    private let present = Slab<Columns.Number>()
    /// The ``Forest/bit(_:)`` of each present column.
    private(set) var presentBits: UInt32 = 0
    /// Whether a loaded field contains bytes. Tests cannot distinguish bytes from strings, so predicates must decide.
    private(set) var hasBytes = false

    /// The kind of a column whose aspect is ``Aspect/isMany``.
    private static let manyKind = UInt8.max

    mutating func clear() {
        // The formatter would remove the space in `for unsafe`.
        // swift-format-ignore
        for unsafe column in unsafe present.view {
            numbers[Int(column)] = 0
            kinds[Int(column)] = 0
        }
        present.removeAll()
        presentBits = 0
        hasBytes = false
        many.removeAll()
    }

    @inline(__always)
    mutating func set(_ column: Columns.Number?, _ number: UInt32, _ kind: Test.Kind = .other) {
        guard let column, number | UInt32(kind.rawValue) != 0 else { return }
        numbers[Int(column)] = number
        kinds[Int(column)] = kind.rawValue
        add(column)
    }

    @inline(__always)
    private mutating func add(_ column: Columns.Number) {
        present.append(column)
        presentBits |= Forest.bit(column)
    }

    /// Sets a column to the numbers that `body` appends.
    @inline(__always)
    private mutating func setMany(_ column: Columns.Number?, _ body: (Slab<UInt32>) -> Void) {
        guard let column else { return }
        let start = unsafe many.count
        body(many)
        guard unsafe many.count > start else { return }
        starts[Int(column)] = UInt32(start)
        numbers[Int(column)] = unsafe UInt32(many.count - start)
        kinds[Int(column)] = RecordColumns.manyKind
        add(column)
    }
}

// MARK: - Tests

extension RecordColumns {
    /// Unsafe read access, valid until the columns are modified.
    @unsafe struct View {
        let numbers: UnsafePointer<UInt32>
        let kinds: UnsafePointer<UInt8>
        let starts: UnsafePointer<UInt32>
        let many: UnsafeBufferPointer<UInt32>
        let present: UnsafeBufferPointer<Columns.Number>
        let presentBits: UInt32
        let sets: ValueSets.View

        @inline(__always)
        func isMany(_ column: Columns.Number) -> Bool { unsafe kinds[Int(column)] == RecordColumns.manyKind }

        @inline(__always)
        func many(_ column: Columns.Number) -> Slice<UnsafeBufferPointer<UInt32>> {
            let start = unsafe isMany(column) ? Int(starts[Int(column)]) : 0
            return unsafe many[start..<(start + (isMany(column) ? Int(numbers[Int(column)]) : 0))]
        }
    }

    @inline(__always)
    func view(sets: ValueSets.View) -> View {
        unsafe View(
            numbers: numbers.base, kinds: kinds.base, starts: starts.base, many: many.view, present: present.view,
            presentBits: presentBits, sets: sets)
    }
}

extension RecordColumns.View {
    enum Verdict {
        case no, yes
        /// The tests cannot decide. The predicate must be evaluated.
        case undecided
    }

    /// Whether the predicate of an entry's subscription is true, as far as the entry's tests can tell.
    @inline(__always)
    func verdict(_ entry: EntryView) -> Verdict {
        let count = unsafe entry.testCount
        var all = unsafe entry.isCertain ? Verdict.yes : .undecided
        var index = 0
        while index < count {
            switch unsafe verdict(entry, index) {
            case .no: return .no
            case .undecided: all = .undecided
            case .yes: break
            }
            index += 1
        }
        return all
    }

    @inline(__always)
    private func verdict(_ entry: EntryView, _ index: Int) -> Verdict {
        let (column, operation) = unsafe (entry.column(index), entry.operation(index))
        let (low, high, number) = unsafe (entry.low(index), entry.high(index), numbers[column])
        if operation <= Test.Operation.fuzzyRange.rawValue {
            guard number >= low, number <= high else { return .no }
            return operation == 0 || number > low && number < high ? .yes : .undecided
        }
        return unsafe holds(operation, column, number, low, high) ? .yes : .no
    }

    private func holds(_ operation: UInt32, _ column: Int, _ number: UInt32, _ low: UInt32, _ high: UInt32) -> Bool {
        switch unsafe Test.Operation(rawValue: operation).unsafelyUnwrapped {
        case .range, .fuzzyRange: number >= low && number <= high
        case .not: unsafe kinds[column] == high && number != low
        case .pair: number == low || number == high
        case .set: unsafe number != 0 && sets.contains(number, in: low)
        case .notSet: unsafe kinds[column] == high && !sets.contains(number, in: low)
        case .member: unsafe many(UInt8(column)).contains(low)
        case .memberSet: unsafe many(UInt8(column)).contains { unsafe sets.contains($0, in: low) }
        }
    }
}

// MARK: - Loading

extension RecordColumns {
    /// Loads only those fields of the changed record that are compared by a subscription to this record type.
    mutating func load(
        _ change: borrowing Change, _ type: Columns, _ names: SymbolTable.View, _ values: ValueTable.View
    ) {
        let columns = unsafe type.view
        if let fields = change.fields {
            var seen: (UInt64, UInt64) = (0, 0)
            for (key, field) in fields.members {
                guard let name = unsafe names.find(key), let index = unsafe columns.fieldIndex(of: name) else {
                    continue
                }
                // If a name occurs twice, the first field counts, as for JSONValue.member(_:).
                let bit: UInt64 = 1 << UInt64(index & 63)
                guard (index < 64 ? seen.0 : seen.1) & bit == 0 else { continue }
                if index < 64 { seen.0 |= bit } else { seen.1 |= bit }
                let members = FieldMembers(of: field)
                unsafe load(FieldView(value: members.value), columns.fields[index], columns, values)
                if let type = members.type, type.isTypeOfBytes { hasBytes = true }
            }
            if let all = unsafe columns.allText { unsafe load(wordsOf: fields, columns.fields[all], values) }
        }
        guard unsafe columns.hasSystemFields else { return }
        let save = change.save
        for (field, index) in type.system {
            unsafe load(field.view(in: change.record, of: save), columns.fields[index], columns, values)
        }
    }

    @inline(__always)
    private mutating func load(
        _ view: FieldView, _ field: Columns.Field, _ columns: Columns.View, _ values: ValueTable.View
    ) {
        switch view {
        case .text(let text): unsafe text.withUTF8 { unsafe load(text: $0, field, values) }
        case .integer(let number):
            unsafe load(value: values.find(number), .number, field)
            set(field[.number], OrderedKey(number).bits)
        case .double(let number):
            unsafe load(value: values.find(number), .number, field)
            set(field[.number], OrderedKey(number).bits)
        case .reference(let name):
            unsafe load(value: name.withUTF8 { unsafe values.find(.reference, $0) } ?? 0, .reference, field)
        case .list(let list): unsafe load(list: list, field, values)
        case .object: unsafe loadCells(view, field, columns, values)
        case .nothing: return
        }
        set(field[.present], 1)
    }

    @inline(__always)
    private mutating func load(value: UInt32, _ kind: Test.Kind, _ field: Columns.Field) {
        set(field[.value], value, kind)
        set(field[.folded], value, kind)
    }

    @inline(__always)
    private mutating func load(text: UnsafeRawBufferPointer, _ field: Columns.Field, _ values: ValueTable.View) {
        if let column = field[.value] { unsafe set(column, values.find(.text, text), .text) }
        if let column = field[.start] { unsafe set(column, OrderedKey(text).bits) }
        if field[.folded] != nil || field[.foldedStart] != nil {
            unsafe Letters.withFolded(text) { folded in
                unsafe set(field[.folded], values.find(.text, folded), .text)
                unsafe set(field[.foldedStart], OrderedKey(folded).bits)
            }
        }
        if let column = field[.word] { setMany(column) { unsafe RecordColumns.add(wordsOf: text, to: $0, values) } }
    }

    private mutating func load(list: JSONValue, _ field: Columns.Field, _ values: ValueTable.View) {
        if field.needsFirstElement, let first = list.elements.first(where: { _ in true }) { load(first: first, field) }
        setMany(field[.member]) { many in
            for element in list.elements { unsafe RecordColumns.add(element, to: many, values) { unsafe $1($0) } }
            if list.count == 0 { many.append(ValueTable.emptyList) }
        }
        setMany(field[.foldedMember]) { many in
            for element in list.elements {
                unsafe RecordColumns.add(element, to: many, values) { unsafe Letters.withFolded($0, $1) }
            }
            if list.count == 0 { many.append(ValueTable.emptyList) }
        }
        setMany(field[.memberStart]) { many in
            for element in list.elements {
                if let key = unsafe element.withUTF8({ unsafe OrderedKey($0).bits }) { many.append(key) }
            }
        }
        setMany(field[.word]) { many in
            for element in list.elements {
                _ = unsafe element.withUTF8 { unsafe RecordColumns.add(wordsOf: $0, to: many, values) }
            }
        }
    }

    private mutating func load(first element: JSONValue, _ field: Columns.Field) {
        switch FieldView(scalar: element) {
        case .integer(let number): set(field[.firstNumber], OrderedKey(number).bits)
        case .double(let number): set(field[.firstNumber], OrderedKey(number).bits)
        case .text(let text):
            unsafe text.withUTF8 { text in
                unsafe set(field[.firstStart], OrderedKey(text).bits)
                guard let column = field[.firstFoldedStart] else { return }
                unsafe Letters.withFolded(text) { unsafe set(column, OrderedKey($0).bits) }
            }
        default: break
        }
    }

    @inline(__always)
    private static func add(
        _ element: JSONValue, to many: Slab<UInt32>, _ values: ValueTable.View,
        folding: (UnsafeRawBufferPointer, (UnsafeRawBufferPointer) -> UInt32) -> UInt32
    ) {
        let number: UInt32? =
            switch FieldView(scalar: element) {
            case .text(let text): unsafe text.withUTF8 { unsafe folding($0) { unsafe values.find(.text, $0) } }
            case .integer(let number): unsafe values.find(number)
            case .double(let number): unsafe values.find(number)
            case .reference(let name): unsafe name.withUTF8 { unsafe values.find(.reference, $0) }
            default: nil
            }
        if let number, number != ValueTable.unknown { many.append(number) }
    }

    private static func add(wordsOf text: UnsafeRawBufferPointer, to many: Slab<UInt32>, _ values: ValueTable.View) {
        unsafe Words.forEach(in: text) { word in
            let number = unsafe values.find(.word, word)
            if number != ValueTable.unknown { many.append(number) }
        }
    }

    private mutating func loadCells(
        _ view: FieldView, _ field: Columns.Field, _ columns: Columns.View, _ values: ValueTable.View
    ) {
        guard let place = view.coordinate else { return }
        let levels = unsafe columns.gridLevels
        setMany(field[.cell]) { many in
            for level in 0...Grid.levelMax where levels & 1 << UInt32(level) != 0 {
                let cell = Grid.cell(level, place.latitude, place.longitude)
                let number = unsafe values.find(.cell, cell)
                if number != ValueTable.unknown { many.append(number) }
            }
        }
    }

    /// Loads the words of all fields that may contain words (``Clause/mayContainWords(_:)``).
    private mutating func load(wordsOf fields: JSONValue, _ field: Columns.Field, _ values: ValueTable.View) {
        setMany(field[.word]) { many in
            for (_, field) in fields.members where Clause.mayContainWords(field[.type]) {
                switch FieldView(field: field) {
                case .text(let text):
                    _ = unsafe text.withUTF8 { unsafe RecordColumns.add(wordsOf: $0, to: many, values) }
                case .list(let list):
                    for element in list.elements {
                        _ = unsafe element.withUTF8 { unsafe RecordColumns.add(wordsOf: $0, to: many, values) }
                    }
                default: break
                }
            }
        }
    }
}
