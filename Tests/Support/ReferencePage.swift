import Foundation
import Synchronization
import Testing

/// A page of the manual's reference. Tests compare the page with the code. If `BELFRY_WRITE_REFERENCE` is set, they
/// write the page.
package struct ReferencePage: Sendable {
    private static let access = Mutex(())
    private let name: String

    package init(_ name: String) { self.name = name }

    private var path: String {
        #filePath.components(separatedBy: "/Tests/")[0] + "/Sources/BelfryTool/Belfry.docc/Reference/" + name
    }

    /// Expects the page to be `text`.
    package func expect(_ text: String, at place: SourceLocation = #_sourceLocation) throws {
        try expect(at: place) { _ in text }
    }

    /// Expects `rows` in the first table below a heading.
    ///
    /// - Parameter rows: Cells in Markdown. A row may have fewer cells than the table has columns. The other cells are
    ///   written by hand in the page. They are kept as they are in the page's row with the same first cell.
    package func expect(
        rows: [[String]], under heading: String, at place: SourceLocation = #_sourceLocation
    ) throws {
        try expect(at: place) { text in
            var lines = text.components(separatedBy: "\n")
            let start = try #require(lines.firstIndex(of: "## \(heading)"), "\(name) has no heading \(heading)")
            let rule = try #require(lines[start...].firstIndex { $0.hasPrefix("|---") }, "\(heading) has no table")
            let end = lines[rule...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex
            let width = Self.cells(of: lines[rule]).count
            let current = Dictionary(lines[(rule + 1)..<end].map { (Self.cells(of: $0)[0], Self.cells(of: $0)) }) { $1 }
            let wanted = rows.map { row in
                row + (row.count..<max(width, row.count)).map { column in current[row[0]]?[column] ?? "" }
            }
            for row in wanted where row.contains("") {
                Issue.record("\(name), \(heading): write the empty cells of \(row[0])", sourceLocation: place)
            }
            lines.replaceSubrange((rule + 1)..<end, with: wanted.map { "| \($0.joined(separator: " | ")) |" })
            return lines.joined(separator: "\n")
        }
    }

    /// The first cells of all rows that contain `text`, without backticks.
    package func keys(ofRowsWith text: String) throws -> Set<String> {
        let lines = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n")
        let rows = lines.filter { $0.hasPrefix("|") && $0.contains(text) }
        return Set(rows.map { Self.cells(of: $0)[0].replacing("`", with: "") })
    }

    private static func cells(of line: String) -> [String] {
        line.replacing("\\|", with: "\u{0}").split(separator: "|", omittingEmptySubsequences: false).dropFirst()
            .dropLast()
            .map { $0.trimmingCharacters(in: .whitespaces).replacing("\u{0}", with: "\\|") }
    }

    private func expect(at place: SourceLocation, _ wanted: (String) throws -> String) throws {
        try Self.access.withLock { _ in
            let current =
                FileManager.default.fileExists(atPath: path) ? try String(contentsOfFile: path, encoding: .utf8) : ""
            let wanted = try wanted(current)
            guard wanted != current else { return }
            if ProcessInfo.processInfo.environment["BELFRY_WRITE_REFERENCE"] != nil {
                return try wanted.write(toFile: path, atomically: true, encoding: .utf8)
            }
            let changes = wanted.components(separatedBy: "\n").difference(from: current.components(separatedBy: "\n"))
            Issue.record(
                "\(name) and the code differ: \(changes.map(Self.text).joined(separator: "; "))", sourceLocation: place)
        }
    }

    private static func text(_ change: CollectionDifference<String>.Change) -> String {
        switch change {
        case .insert(_, let line, _): "the page lacks '\(line)'"
        case .remove(_, let line, _): "the code does not have '\(line)'"
        }
    }
}
