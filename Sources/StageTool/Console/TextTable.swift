/// A table for people.
package struct TextTable {
    private var rows: [[String]]
    private let leftColumns: Set<Int>

    /// The first column is aligned to the left, all others to the right.
    package init(_ titles: String...) { self.init(titles, leftColumns: [0]) }

    /// - Parameter leftColumns: The columns aligned to the left.
    package init(_ titles: [String], leftColumns: Set<Int>) { (rows, self.leftColumns) = ([titles], leftColumns) }

    package mutating func add(_ cells: String...) { add(cells) }

    package mutating func add(_ cells: [String]) {
        precondition(cells.count == rows[0].count, "the row has \(cells.count) cells for \(rows[0].count) titles")
        rows.append(cells)
    }

    package var lines: [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.indices.map { column in
                leftColumns.contains(column)
                    ? row[column].padded(to: widths[column]) : row[column].leftPadded(to: widths[column])
            }.joined(separator: "  ")
        }
    }
}

extension Double {
    /// Text with a fixed number of decimals: `1.50`. Thousands are grouped: `12,345`. Infinity and NaN are `-`.
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

extension [String?] {
    /// The strings that are neither nil nor empty, in one line; nil if there is no such string.
    package func joined(by separator: String = " ") -> String? {
        let texts = compactMap(\.self).filter { !$0.isEmpty }
        return texts.isEmpty ? nil : texts.joined(separator: separator)
    }
}

extension String {
    package func leftPadded(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
