import JSON
import Predicates

/// The fields of one change by the numbers of their names; each found and decoded once.
///
/// Fields that no subscription names are left out. System fields stand beside the app's own, under names that none of
/// those can have.
struct FieldTable {
    struct Cell {
        let view: FieldView
        /// The field dictionary.
        let field: JSONValue
    }

    private var names = SymbolTable()
    private var cells: [Cell?] = []
    private(set) var located: [Int32] = []
    private var systemFields: [(field: SystemField, symbol: Int32)] = []
    private(set) var record = RecordView(record: nil, fields: nil)

    /// Stands for what is no single field.
    static let none: Int32 = -1

    mutating func intern(_ subject: Clause.Subject) -> Int32 {
        switch subject {
        case .field(let name): return intern(name)
        case .allText: return FieldTable.none
        case .system(let field):
            if let known = systemFields.first(where: { $0.field == field }) { return known.symbol }
            let symbol = intern("\u{0}" + field.rawValue)
            systemFields.append((field, symbol))
            return symbol
        }
    }

    mutating func intern(_ name: String) -> Int32 {
        let symbol = names.intern(name)
        if cells.count < names.count { cells.append(nil) }
        return symbol
    }

    @inline(__always)
    subscript(symbol: Int32) -> Cell? { cells[Int(symbol)] }

    /// Where a name stands twice the first counts, as for ``JSONValue/member(_:)``.
    @inline(__always)
    mutating func load(_ change: borrowing Change) {
        record = RecordView(record: change.record, fields: change.fields)
        if !systemFields.isEmpty { loadSystemFields(change.record) }
        guard let fields = change.fields else { return }
        for (key, field) in fields.members {
            guard let symbol = names.find(key), cells[Int(symbol)] == nil else { continue }
            cells[Int(symbol)] = Cell(view: FieldView(field: field), field: field)
            located.append(symbol)
        }
    }

    private mutating func loadSystemFields(_ record: JSONValue) {
        for (field, symbol) in systemFields {
            guard let value = field.value(in: record) else { continue }
            cells[Int(symbol)] = Cell(view: field.view(in: record), field: value)
            located.append(symbol)
        }
    }

    /// Lets go of all views.
    @inline(__always)
    mutating func clear() {
        for symbol in located { cells[Int(symbol)] = nil }
        located.removeAll(keepingCapacity: true)
        record = RecordView(record: nil, fields: nil)
    }
}
