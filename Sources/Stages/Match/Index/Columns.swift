import Predicates

/// One way in which subscriptions look at a field. A field and an aspect make a column, which has one number, or
/// several, for a record; each is what a test of the index compares.
enum Aspect: UInt8, CaseIterable {
    /// The value, by its number in the ``ValueTable``; of a text the exact one.
    case value
    /// The same with texts regardless of case.
    case folded
    /// A number by its ``OrderedKey``.
    case number
    /// How a text starts, exactly and regardless of case.
    case start, foldedStart
    /// A list's first element, as `number`, `start` and `foldedStart` have it.
    case firstNumber, firstStart, firstFoldedStart
    /// Whether the field has a value: 1.
    case present
    /// A list's elements, as `value`, `folded` and `start` have them.
    case member, foldedMember, memberStart
    /// A text's words.
    case word
    /// The ``Grid`` cells of a location.
    case cell

    var isNumber: Bool { self == .number || self == .firstNumber }

    /// Whether a record may have several.
    var isMany: Bool { rawValue >= Aspect.member.rawValue }
}

/// What subscriptions to one record type look at. It only grows.
final class Columns {
    typealias Number = UInt8

    /// The record's type, by the number after that of its name.
    static let recordType: Number = 0

    /// Tests have seven bits for a column.
    static let countMax = 128

    /// The aspects of one field, and the column of each.
    struct Field {
        fileprivate(set) var aspects: UInt16 = 0
        fileprivate var numbers = SIMD16<UInt8>(repeating: 0)

        /// Whether somebody asks for all elements of a list.
        @inline(__always)
        var asksForFirst: Bool { aspects & 7 << Aspect.firstNumber.rawValue != 0 }

        @inline(__always)
        subscript(aspect: Aspect) -> Number? {
            aspects & 1 << aspect.rawValue != 0 ? numbers[Int(aspect.rawValue)] : nil
        }
    }

    private let fields = Slab<Field>()
    /// The fields by the number of their name; -1 for those that no subscription looks at.
    private let places = Slab<Int16>()
    private(set) var system: [(name: SystemField, field: Int)] = []
    /// What stands for all texts of a record, where somebody searches it for words.
    @exclusivity(unchecked) private var allText: Int?
    @exclusivity(unchecked) private var hasSystemFields = false
    // The first column stands in every record type.
    private var aspects: [Aspect] = [.value]
    /// How many clauses ask for a value of each column.
    private var uses = [0]
    /// Of columns of numbers: the least and the greatest bound that a clause has.
    private var bounds: [(least: Double, greatest: Double)] = [(.infinity, -.infinity)]
    /// Levels of the grid that circles stand on.
    @exclusivity(unchecked) private(set) var gridLevels: UInt32 = 0

    /// The columns while they do not change.
    @unsafe struct View {
        let fields: UnsafeBufferPointer<Field>
        fileprivate let places: UnsafeBufferPointer<Int16>
        let allText: Int?
        let gridLevels: UInt32
        let hasSystemFields: Bool

        /// Where in `fields` a field stands; nil when no subscription looks at it.
        @inline(__always)
        func place(of name: Int32) -> Int? {
            guard unsafe Int(name) < places.count, unsafe places[Int(name)] >= 0 else { return nil }
            return unsafe Int(places[Int(name)])
        }
    }

    @inline(__always)
    var view: View {
        unsafe View(
            fields: fields.view, places: places.view, allText: allText, gridLevels: gridLevels,
            hasSystemFields: hasSystemFields)
    }

    func aspect(_ column: Number) -> Aspect { aspects[Int(column)] }

    func isMany(_ column: Number) -> Bool { aspects[Int(column)].isMany }

    func uses(of column: Number) -> Int { uses[Int(column)] }

    init() {}

    /// What share of the numbers that clauses name an interval has; a guess of how many records lie in it.
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

    /// The column of an aspect; nil when there is no room for one more.
    ///
    /// - Parameter name: The number of a field's name.
    func column(_ subject: Clause.Subject, _ name: Int32, _ aspect: Aspect) -> Number? {
        guard let field = place(subject, name) else { return nil }
        if let number = fields[field][aspect] { return number }
        guard aspects.count < Columns.countMax else { return nil }
        aspects.append(aspect)
        uses.append(0)
        bounds.append((.infinity, -.infinity))
        fields[field].aspects |= 1 << aspect.rawValue
        fields[field].numbers[Int(aspect.rawValue)] = UInt8(aspects.count - 1)
        return UInt8(aspects.count - 1)
    }

    private func place(_ subject: Clause.Subject, _ name: Int32) -> Int? {
        switch subject {
        case .field: return place(name)
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

    private func place(_ name: Int32) -> Int? {
        while unsafe places.count <= name { places.append(-1) }
        if places[Int(name)] < 0 {
            guard unsafe fields.count < Columns.countMax else { return nil }
            places[Int(name)] = unsafe Int16(fields.count)
            fields.append(Field())
        }
        return Int(places[Int(name)])
    }
}
