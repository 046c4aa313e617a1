import JSON

/// Records settings as JSON beside a log, so that the log can be replayed after the pipeline file has changed.
extension SettingsReader {
    /// The mapping as one JSON object, with or without seals. The keys are sorted, so their order in the pipeline file
    /// makes no difference.
    ///
    /// - Parameter omitted: Keys of this mapping that are left out.
    package func record(without omitted: Set<String> = [], hasSeals: Bool = true) -> String {
        if !hasSeals { return unsealed.record(without: omitted) }
        var buffer = ByteBuffer()
        SettingsReader.write(nodes.filter { !omitted.contains($0.key) }, to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    static func record(of node: SettingsNode) -> String {
        var buffer = ByteBuffer()
        write(node, to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    /// Reads recorded settings. Errors name their place by `file` and `keyPath`. Nil if the value is not an object.
    package init?(record: JSONValue, file: String, folder: String, keyPath: String) {
        let place = Place(line: 1, column: 1)
        guard case .mapping(let entries) = SettingsReader.node(record, place).content else { return nil }
        self.init(entries: entries, file: file, folder: folder, keyPath: keyPath, place: place)
    }

    private static func write(_ entries: [SettingsNode.Entry], seal: String? = nil, to buffer: inout ByteBuffer) {
        buffer.append("{")
        for entry in entries.sorted(by: { $0.key < $1.key }) {
            buffer.append(key: entry.key)
            write(entry.value, to: &buffer)
        }
        if let seal {
            buffer.append(",\"$seal\":")
            buffer.appendJSON(seal)
        }
        buffer.append("}")
    }

    private static func write(_ node: SettingsNode, to buffer: inout ByteBuffer) {
        switch node.content {
        case .nothing: buffer.append("null")
        case .scalar where node.isSecret:
            let clear = SettingsNode(content: .scalar("clear", plain: true), place: node.place)
            let entry = SettingsNode.Entry(key: Secret.Source.leftOutKey, place: node.place, value: clear)
            write([entry], seal: node.seal, to: &buffer)
        case .scalar(let text, _):
            guard let seal = node.seal else { return buffer.appendJSON(text) }
            let path = SettingsNode(content: node.content, place: node.place)
            write([SettingsNode.Entry(key: "$path", place: node.place, value: path)], seal: seal, to: &buffer)
        case .mapping(let entries): write(entries, seal: node.seal, to: &buffer)
        case .list(let items):
            buffer.list(items) { write($1, to: &$0) }
        }
    }

    private static func node(_ value: JSONValue, _ place: Place) -> SettingsNode {
        guard let seal = value["$seal"]?.string else {
            return SettingsNode(content: content(of: value, place), place: place)
        }
        if let path = value["$path"] {
            return SettingsNode(content: content(of: path, place), place: place, seal: seal)
        }
        let members = entries(of: value, place).filter { $0.key != "$seal" }
        return SettingsNode(content: .mapping(members), place: place, seal: seal)
    }

    private static func entries(of value: JSONValue, _ place: Place) -> [SettingsNode.Entry] {
        value.members.map { key, value in
            SettingsNode.Entry(key: key.string ?? "", place: place, value: node(value, place))
        }
    }

    /// The record has numbers and booleans as strings too, and does not say which strings were quoted in the pipeline
    /// file. So all strings count as unquoted. This does no harm, because a string that was quoted belongs to a setting
    /// that expects a string: a setting that expects a number or a boolean would have refused it. A setting that
    /// expects a string reads quoted and unquoted text alike.
    private static func content(of value: JSONValue, _ place: Place) -> SettingsNode.Content {
        if value.isObject { return .mapping(entries(of: value, place)) }
        if value.isArray { return .list(value.elements.map { node($0, place) }) }
        return value.string.map { .scalar($0, plain: true) } ?? .nothing
    }
}
