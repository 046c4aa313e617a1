import Events
import JSON
import StageTool

/// A state's objects: as they are for programs, in columns for people.
package struct StateTable {
    package private(set) var lines: [String] = []
    private var keys: [String] = []
    private var objects: [[String: String]] = []

    private static let cellCharactersMax = 48

    /// - Parameter user: Leave out what concerns others.
    package init(_ text: String, user: String?, needsRows: Bool) throws {
        var parser = JSONParser(limits: JSONLimits(bytesMax: 128 << 20))
        for line in text.split(separator: "\n") {
            try Array(line.utf8).withUnsafeBytes { bytes in
                let json = try parser.parse(bytes)
                if let user, json[.user]?.equals(user) != true { return }
                lines.append(String(line))
                if needsRows { addRow(json) }
            }
        }
    }

    private mutating func addRow(_ json: JSONValue) {
        var object: [String: String] = [:]
        for (key, value) in json.members {
            let key = key.string ?? ""
            if !keys.contains(key) { keys.append(key) }
            object[key] = value.string?.printable ?? String(decoding: value.raw, as: UTF8.self)
        }
        objects.append(object)
    }

    /// One row for each object, one column for each member.
    package var rows: [String] {
        guard !objects.isEmpty else { return ["nothing"] }
        let cells = [keys.map { $0.uppercased() }] + objects.map { object in keys.map { StateTable.cell(object[$0]) } }
        let widths = keys.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        return cells.map { row in row.indices.map { row[$0].padded(to: widths[$0]) }.joined(separator: "  ") }
    }

    private static func cell(_ text: String?) -> String {
        guard let text else { return "-" }
        return text.count > cellCharactersMax ? text.prefix(cellCharactersMax - 1) + "…" : text
    }
}
