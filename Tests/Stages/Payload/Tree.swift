import JSON

/// A JSON value that can be compared; the order of members does not matter.
indirect enum Tree: Equatable {
    case null
    case flag(Bool)
    case number(String)
    case text(String)
    case list([Tree])
    case object([String: Tree])

    init(_ line: String) throws {
        var parser = JSONParser(limits: JSONLimits(refusesDuplicateKeys: true))
        let bytes = Array(line.utf8)
        self = try bytes.withUnsafeBytes { Tree(try parser.parse($0)) }
    }

    private init(_ json: JSONValue) {
        switch json.kind {
        case .null: self = .null
        case .true: self = .flag(true)
        case .false: self = .flag(false)
        case .number: self = .number(String(decoding: json.raw, as: UTF8.self))
        case .string: self = .text(json.string ?? "")
        case .array: self = .list(json.elements.map { Tree($0) })
        case .object:
            let pairs = json.members.map { ($0.key.string ?? "", Tree($0.value)) }
            self = .object(Dictionary(pairs) { first, _ in first })
        }
    }

    subscript(keys: String...) -> Tree? {
        keys.reduce(self) { tree, key in
            guard case .object(let members)? = tree else { return nil }
            return members[key]
        }
    }

    var keys: Set<String> {
        guard case .object(let members) = self else { return [] }
        return Set(members.keys)
    }

    var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }
}

/// The text of the member `payload` of a push.
func payloadText(of line: String) throws -> String {
    var parser = JSONParser()
    let bytes = Array(line.utf8)
    return try bytes.withUnsafeBytes { bytes in
        let payload = try parser.parse(bytes)["payload"]
        return payload.map { String(decoding: $0.raw, as: UTF8.self) } ?? ""
    }
}
