/// A table for people: the first column to the left, all others to the right.
struct TextTable {
    private var rows: [[String]]

    init(_ titles: String...) { rows = [titles] }

    mutating func add(_ cells: String...) {
        precondition(cells.count == rows[0].count, "every row has a cell for each title")
        rows.append(cells)
    }

    var lines: [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.indices.map { $0 == 0 ? row[$0].padded(to: widths[$0]) : row[$0].leftPadded(to: widths[$0]) }
                .joined(separator: "  ")
        }
    }
}

extension Double {
    /// With a fixed number of decimals: `1.50`; thousands are set apart where there are none.
    func text(decimals: Int) -> String {
        guard isFinite else { return "-" }
        guard decimals > 0 else { return Int64(rounded()).grouped }
        let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
        let units = Int64((magnitude * scale).rounded())
        let fraction = "\(units % Int64(scale))"
        let zeros = String(repeating: "0", count: decimals - fraction.count)
        return "\(self < 0 && units > 0 ? "-" : "")\((units / Int64(scale)).grouped).\(zeros)\(fraction)"
    }
}
