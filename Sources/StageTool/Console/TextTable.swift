/// A table for people: the first column to the left, all others to the right.
package struct TextTable {
    private var rows: [[String]]

    package init(_ titles: String...) { rows = [titles] }

    package mutating func add(_ cells: String...) {
        precondition(cells.count == rows[0].count, "every row has a cell for each title")
        rows.append(cells)
    }

    package var lines: [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.indices.map { $0 == 0 ? row[$0].padded(to: widths[$0]) : row[$0].leftPadded(to: widths[$0]) }
                .joined(separator: "  ")
        }
    }
}

extension Double {
    /// With a fixed number of decimals: `1.50`; thousands are set apart where there are none.
    package func text(decimals: Int) -> String {
        guard isFinite else { return "-" }
        guard decimals > 0 else { return Int64(rounded()).grouped }
        let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
        let units = Int64((magnitude * scale).rounded())
        let fraction = "\(units % Int64(scale))"
        let zeros = String(repeating: "0", count: decimals - fraction.count)
        return "\(self < 0 && units > 0 ? "-" : "")\((units / Int64(scale)).grouped).\(zeros)\(fraction)"
    }
}

extension String {
    package func leftPadded(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
