import JSON

/// Settings as they are kept beside a log, so that it can be replayed whatever the pipeline file says later.
extension SettingsReader {
    /// The mapping as one JSON object. The same settings give the same text, in whatever order they are written.
    package func record(without left: Set<String> = []) -> String {
        var buffer = ByteBuffer()
        SettingsReader.write(nodes.filter { !left.contains($0.key) }, to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    /// Settings from a record. Nil where the value is no object.
    ///
    /// - Parameters:
    ///   - file: What errors call it.
    ///   - keyPath: The keys that lead to these settings in a pipeline file.
    package init?(record: JSONValue, file: String, folder: String, keyPath: String) {
        let place = Place(line: 1, column: 1)
        guard case .mapping(let entries) = SettingsReader.node(record, place).content else { return nil }
        self.init(entries: entries, file: file, folder: folder, keyPath: keyPath, place: place)
    }

    private static func write(_ entries: [SettingsNode.Entry], to buffer: inout ByteBuffer) {
        buffer.append("{")
        for (index, entry) in entries.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.appendJSON(entry.key)
            buffer.append(":")
            write(entry.value, to: &buffer)
        }
        buffer.append("}")
    }

    private static func write(_ node: SettingsNode, to buffer: inout ByteBuffer) {
        switch node.content {
        case .nothing: buffer.append("null")
        case .scalar(let text, _): buffer.appendJSON(text)
        case .mapping(let entries): write(entries, to: &buffer)
        case .list(let items):
            buffer.append("[")
            for (index, item) in items.enumerated() {
                if index > 0 { buffer.append(",") }
                write(item, to: &buffer)
            }
            buffer.append("]")
        }
    }

    /// What was written without quotes may be a number or a truth value, so all of it counts as such: the record was
    /// read by its plugin once already.
    private static func node(_ value: JSONValue, _ place: Place) -> SettingsNode {
        let content: SettingsNode.Content =
            if value.isObject {
                .mapping(
                    value.members.map { key, value in
                        SettingsNode.Entry(key: key.string ?? "", place: place, value: node(value, place))
                    })
            } else if value.isArray {
                .list(value.elements.map { node($0, place) })
            } else if let text = value.string {
                .scalar(text, plain: true)
            } else {
                .nothing
            }
        return SettingsNode(content: content, place: place)
    }
}
