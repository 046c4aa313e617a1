import JSON
import Predicates

/// The fields of one change by the numbers of their names; each found and decoded once.
///
/// Fields that no subscription names are left out.
struct FieldTable {
    struct Cell {
        let view: FieldView
        /// The field dictionary.
        let field: JSONValue
    }

    private var names = SymbolTable()
    private var cells: [Cell?] = []
    private(set) var located: [Int32] = []

    mutating func intern(_ name: String) -> Int32 {
        let symbol = names.intern(name)
        if cells.count < names.count { cells.append(nil) }
        return symbol
    }

    @inline(__always)
    subscript(symbol: Int32) -> Cell? { cells[Int(symbol)] }

    /// Where a name stands twice the first counts, as for ``JSONValue/member(_:)``.
    @inline(__always)
    mutating func load(_ fields: JSONValue?) {
        guard let fields else { return }
        for (key, field) in fields.members {
            guard let symbol = names.find(key), cells[Int(symbol)] == nil else { continue }
            cells[Int(symbol)] = Cell(view: FieldView(field: field), field: field)
            located.append(symbol)
        }
    }

    /// Lets go of all views.
    @inline(__always)
    mutating func clear() {
        for symbol in located { cells[Int(symbol)] = nil }
        located.removeAll(keepingCapacity: true)
    }
}
