import Yams

/// Converts the parser's nodes, follows aliases, and collects mistakes.
struct SettingsTree {
    let file: String
    /// Restores the first characters of repeated keys, which were replaced because the parser refuses repeated keys.
    let disguise: KeyDisguise
    private(set) var errors: [SettingsError] = []
    /// The key paths of values that could not be read. Their absence is not reported again.
    private(set) var unreadable: Set<String> = []
    private var anchors: [String: (node: SettingsNode, size: Int)] = [:]
    /// The number of values so far, including the values that aliases added.
    private var size = 0
    private var aliased = 0

    init(file: String, disguise: KeyDisguise) {
        self.file = file
        self.disguise = disguise
    }

    mutating func convert(_ node: Node, at path: String) -> SettingsNode {
        let place = Place(line: node.mark?.line ?? 0, column: node.mark?.column ?? 0)
        let before = size
        size += 1
        let result =
            if let alias = alias(node) {
                follow(alias, path, place)
            } else {
                SettingsNode(content: content(of: node, path, place), place: place)
            }
        if let anchor = node.anchor {
            anchors[anchor.rawValue] = (result, size - before)
        }
        return result
    }

    private mutating func content(of node: Node, _ path: String, _ place: Place) -> SettingsNode.Content {
        checkTag(of: node, path, place)
        switch node {
        case .scalar(let scalar):
            return content(of: scalar)
        case .sequence(let items):
            return .list(items.enumerated().map { convert($1, at: "\(path)[\($0)]") })
        case .mapping(let pairs):
            return .mapping(entries(of: pairs, path))
        case .alias:
            preconditionFailure("the parser found an alias, although every * was replaced")
        }
    }

    private func content(of scalar: Node.Scalar) -> SettingsNode.Content {
        let plain = scalar.style == .plain
        if plain, ["", "~", "null", "Null", "NULL"].contains(scalar.string) { return .nothing }
        return .scalar(scalar.string.replacing(SettingsDocument.star, with: "*"), plain: plain)
    }

    private mutating func entries(of pairs: Node.Mapping, _ path: String) -> [SettingsNode.Entry] {
        var entries: [SettingsNode.Entry] = []
        var places: [String: Place] = [:]
        for (keyNode, valueNode) in pairs {
            guard let (key, place) = key(keyNode, path) else { continue }
            let keyPath = path.isEmpty ? key : "\(path).\(key)"
            let value = convert(valueNode, at: keyPath)
            if let first = places[key] {
                complain(keyPath, place, "written twice; first at \(first.line):\(first.column)")
            } else {
                places[key] = place
                entries.append(.init(key: key, place: place, value: value))
            }
        }
        return entries
    }

    private mutating func key(_ node: Node, _ path: String) -> (String, Place)? {
        let place = Place(line: node.mark?.line ?? 0, column: node.mark?.column ?? 0)
        guard case .scalar(let scalar) = node else {
            let found = if case .sequence = node { "a list" } else { "a mapping" }
            complain(path, place, "expected a key, found \(found)")
            return nil
        }
        let text = disguise.original(scalar.string)
        let key = convert(.scalar(.init(text, scalar.tag, scalar.style, scalar.mark, scalar.anchor)), at: path)
        if case .scalar(let text, _) = key.content { return (text, place) }
        complain(path, place, "expected a key, found \(key.textInErrors)")
        return nil
    }

    // MARK: Aliases

    // The parser gets ``SettingsDocument/star`` instead of each `*`, so it reads an alias as a plain text.

    private func alias(_ node: Node) -> String? {
        guard case .scalar(let scalar) = node, scalar.style == .plain,
            scalar.string.unicodeScalars.first == SettingsDocument.star
        else { return nil }
        return String(scalar.string.unicodeScalars.dropFirst()).replacing(SettingsDocument.star, with: "*")
    }

    private mutating func follow(_ name: String, _ path: String, _ place: Place) -> SettingsNode {
        let none = SettingsNode(content: .nothing, place: place)
        unreadable.insert(path)
        guard let (node, count) = anchors[name] else {
            complain(
                path, place, "*\(name) refers to no anchor above it", hint: "put text that begins with * in quotes")
            return none
        }
        let wasReported = aliased > SettingsDocument.aliasedValuesMax
        aliased += count
        guard aliased <= SettingsDocument.aliasedValuesMax else {
            if !wasReported {
                complain(path, place, "aliases add more than \(SettingsDocument.aliasedValuesMax) values")
            }
            return none
        }
        unreadable.remove(path)
        size += count
        return node
    }

    // MARK: Errors

    // The code that reads a setting knows its type. A tag could only contradict that type.
    private mutating func checkTag(of node: Node, _ path: String, _ place: Place) {
        let known: [Tag.Name] = [.str, .seq, .map]
        guard !known.map(\.rawValue).contains(node.tag.rawValue) else { return }
        complain(path, place, "the tag \(node.tag.rawValue) is not supported", hint: "leave it out")
    }

    private mutating func complain(_ path: String, _ place: Place, _ reason: String, hint: String? = nil) {
        errors.append(SettingsError(file: file, at: place, keyPath: path, reason: reason, hint: hint))
    }
}
