import Events
import JSON
import StageTool

/// The objects of a stage's state: JSON lines for programs, a table for people.
package struct StateTable {
    package private(set) var lines: [String] = []
    private var keys: [String] = []
    private var objects: [[String: String]] = []

    private static let cellCharactersMax = 48

    /// - Parameters:
    ///   - user: Includes only the objects with this `user` or, if they have no `user`, with this `owner`. Nil
    ///     includes all objects.
    ///   - needsRows: Whether ``rows`` is used.
    package init(_ text: String, user: String?, needsRows: Bool) throws {
        var parser = JSONParser(limits: JSONLimits(bytesMax: 128 << 20))
        for line in text.split(separator: "\n") {
            try Array(line.utf8).withUnsafeBytes { bytes in
                let json = try parser.parse(bytes)
                if let user, (json[.user] ?? json[.owner])?.equals(user) != true { return }
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
        guard !objects.isEmpty else { return ["no objects"] }
        var table = TextTable(keys.map { $0.uppercased() }, leftColumns: Set(keys.indices))
        for object in objects { table.add(keys.map { StateTable.cell(object[$0]) }) }
        return table.lines
    }

    private static func cell(_ text: String?) -> String {
        guard let text else { return "-" }
        return text.count > cellCharactersMax ? text.prefix(cellCharactersMax - 1) + "…" : text
    }
}
