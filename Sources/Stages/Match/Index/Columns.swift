import Predicates

/// A property of a field that subscriptions compare.
///
/// A field and an aspect together make a column. A record may have no number in a column, one number or several.
/// The tests of the subscription index compare these numbers.
enum Aspect: UInt8, CaseIterable {
    /// The number of the value in the ``ValueTable``.
    case value
    /// The number of the value in the ``ValueTable``, with strings in lower case.
    case folded
    /// The ``OrderedKey`` of a number.
    case number
    /// The ``OrderedKey`` of a string. For `foldedStart`, the string is first put into lower case.
    case start, foldedStart
    /// Like `number`, `start` and `foldedStart`, but for the first element of a list.
    case firstNumber, firstStart, firstFoldedStart
    /// 1 if the field has a value.
    case present
    /// Like `value`, `folded` and `start`, but for each element of a list.
    case member, foldedMember, memberStart
    /// The numbers of the words of a text.
    case word
    /// The ``Grid`` cells of a location.
    case cell

    var isNumber: Bool { self == .number || self == .firstNumber }

    /// Whether a record may have several numbers in a column of this aspect.
    var isMany: Bool { rawValue >= Aspect.member.rawValue }
}

/// The columns that subscriptions to one record type compare. Columns are never removed.
final class Columns {
    typealias Number = UInt8

    /// The column of the record's type. A record's number in this column is the number of the type's name, plus one.
    static let recordType: Number = 0

    /// A test stores a column in seven bits.
    static let countMax = 128

    /// The aspects of a field and their columns.
    struct Field {
        fileprivate(set) var aspects: UInt16 = 0
        fileprivate var numbers = SIMD16<UInt8>(repeating: 0)

        /// Whether one of the columns is for the first element of a list. The index uses such a column
        /// if all elements of the list must be in a range or begin with a prefix.
        @inline(__always)
        var needsFirstElement: Bool { aspects & 7 << Aspect.firstNumber.rawValue != 0 }

        @inline(__always)
        subscript(aspect: Aspect) -> Number? {
            aspects & 1 << aspect.rawValue != 0 ? numbers[Int(aspect.rawValue)] : nil
        }
    }

    private let fields = Slab<Field>()
    /// Maps the number of a field's name to an index in `fields`, or to -1 if no subscription compares the field.
    private let fieldIndexes = Slab<Int16>()
    private(set) var system: [(name: SystemField, field: Int)] = []
    /// The index in `fields` of the field that stands for all strings of a record. Nil if no subscription searches all
    /// strings.
    @exclusivity(unchecked) private var allText: Int?
    @exclusivity(unchecked) private var hasSystemFields = false
    /// The aspect of each column. The first column is `recordType`.
    private var aspects: [Aspect] = [.value]
    /// For each column, the number of clauses that require certain values in it. Clauses that require a range or
    /// exclude values do not count. Clauses of deleted subscriptions still count.
    private var uses = [0]
    /// For each column, the least and the greatest bound that clauses compare it with. Only columns whose aspect is a
    /// number (``Aspect/isNumber``) get bounds.
    private var bounds: [(least: Double, greatest: Double)] = [(.infinity, -.infinity)]
    /// A bit for each level of the ``Grid`` that the circles of clauses use.
    @exclusivity(unchecked) private(set) var gridLevels: UInt32 = 0

    /// Unsafe read access, valid until the next change.
    @unsafe struct View {
        let fields: UnsafeBufferPointer<Field>
        fileprivate let fieldIndexes: UnsafeBufferPointer<Int16>
        let allText: Int?
        let gridLevels: UInt32
        let hasSystemFields: Bool

        /// The index of a field in `fields`; nil if no subscription compares it.
        @inline(__always)
        func fieldIndex(of name: Int32) -> Int? {
            guard unsafe Int(name) < fieldIndexes.count, unsafe fieldIndexes[Int(name)] >= 0 else { return nil }
            return unsafe Int(fieldIndexes[Int(name)])
        }
    }

    @inline(__always)
    var view: View {
        unsafe View(
            fields: fields.view, fieldIndexes: fieldIndexes.view, allText: allText, gridLevels: gridLevels,
            hasSystemFields: hasSystemFields)
    }

    func aspect(_ column: Number) -> Aspect { aspects[Int(column)] }

    func isMany(_ column: Number) -> Bool { aspects[Int(column)].isMany }

    func uses(of column: Number) -> Int { uses[Int(column)] }

    init() {}

    /// Estimates the share of records whose number is in an interval. Assumes that numbers are spread evenly between
    /// the least and the greatest bound. The estimate is from 0.001 to 0.8. It is 0.3 if the column does not have two
    /// different bounds yet.
    func share(of column: Number, _ low: UInt32, _ high: UInt32) -> Double {
        let (least, greatest) = bounds[Int(column)]
        guard least < greatest else { return 0.3 }
        let start = low <= OrderedKey.min ? least : OrderedKey.number(low)
        let end = high == OrderedKey.max ? greatest : OrderedKey.number(high)
        return min(max((end - start) / (greatest - least), 0.001), 0.8)
    }

    func addBounds(of column: Number, _ low: UInt32, _ high: UInt32) {
        for bound in [low, high] where bound > OrderedKey.min && bound < OrderedKey.max {
            let number = OrderedKey.number(bound)
            bounds[Int(column)].least = min(bounds[Int(column)].least, number)
            bounds[Int(column)].greatest = max(bounds[Int(column)].greatest, number)
        }
    }

    func addUse(of column: Number) { uses[Int(column)] += 1 }

    func addGridLevel(_ level: Int) { unsafe gridLevels |= 1 << UInt32(level) }

    /// The column of an aspect. Adds the column if it is new. Nil if no further column can be added.
    ///
    /// - Parameter name: The number of the field's name.
    func column(_ subject: Clause.Subject, _ name: Int32, _ aspect: Aspect) -> Number? {
        guard let field = fieldIndex(subject, name) else { return nil }
        if let number = fields[field][aspect] { return number }
        guard aspects.count < Columns.countMax else { return nil }
        aspects.append(aspect)
        uses.append(0)
        bounds.append((.infinity, -.infinity))
        fields[field].aspects |= 1 << aspect.rawValue
        fields[field].numbers[Int(aspect.rawValue)] = UInt8(aspects.count - 1)
        return UInt8(aspects.count - 1)
    }

    private func fieldIndex(_ subject: Clause.Subject, _ name: Int32) -> Int? {
        switch subject {
        case .field: return fieldIndex(name)
        case .system(let field):
            if let known = system.first(where: { $0.name == field }) { return known.field }
            unsafe system.append((field, fields.count))
            unsafe hasSystemFields = true
        case .allText:
            if let allText = unsafe allText { return allText }
            unsafe allText = fields.count
        }
        fields.append(Field())
        return unsafe fields.count - 1
    }

    private func fieldIndex(_ name: Int32) -> Int? {
        while unsafe fieldIndexes.count <= name { fieldIndexes.append(-1) }
        if fieldIndexes[Int(name)] < 0 {
            guard unsafe fields.count < Columns.countMax else { return nil }
            fieldIndexes[Int(name)] = unsafe Int16(fields.count)
            fields.append(Field())
        }
        return Int(fieldIndexes[Int(name)])
    }
}
