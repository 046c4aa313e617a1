import JSON

/// A JSON value with all its members or elements: the copy of a parsed value, or a value for tests to write.
indirect enum Tree: Equatable {
    case null
    case bool(Bool)
    case whole(Int64)
    case real(Double)
    /// A number as text.
    case number(String)
    case string(String)
    case array([Tree])
    case object([Member])

    struct Member: Equatable {
        let key: String
        let value: Tree
    }

    /// Copies every value. Numbers stay text.
    init(_ value: JSONValue) {
        switch value.kind {
        case .null: self = .null
        case .true, .false: self = .bool(value.bool ?? false)
        case .number: self = .number(String(decoding: value.raw, as: UTF8.self))
        case .string: self = .string(value.string ?? "")
        case .array: self = .array(value.elements.map { Tree($0) })
        case .object: self = .object(value.members.map { Member(key: $0.key.string ?? "", value: Tree($0.value)) })
        }
    }

    /// Whether a value that was read back is equal: whole numbers exactly, doubles by bits, strings by bytes.
    func isSame(as value: JSONValue) -> Bool {
        switch self {
        case .null: value.isNull
        case .bool(let flag): value.bool == flag
        case .whole(let number): value.int64 == number
        case .real(let number): value.double?.bitPattern == number.bitPattern
        case .number(let text): value.raw.elementsEqual(text.utf8)
        case .string(let text): value.withUTF8 { $0.elementsEqual(text.utf8) } ?? false
        case .array(let elements):
            value.isArray && value.count == elements.count
                && zip(elements, value.elements).allSatisfy { $0.isSame(as: $1) }
        case .object(let members):
            value.isObject && value.count == members.count
                && zip(members, value.members).allSatisfy { Tree.isSame($0, $1) }
        }
    }

    private static func isSame(_ member: Member, _ read: (key: JSONValue, value: JSONValue)) -> Bool {
        Tree.string(member.key).isSame(as: read.key) && member.value.isSame(as: read.value)
    }

    func write(to out: inout ByteBuffer) {
        switch self {
        case .null: out.append("null")
        case .bool(let flag): out.appendJSON(flag)
        case .whole(let number): out.appendJSON(number)
        case .real(let number): out.appendJSON(number)
        case .number(let text): out.append(raw: text)
        case .string(let text): out.appendJSON(text)
        case .array(let elements): Tree.list(elements, "[", "]", &out) { $0.write(to: &$1) }
        case .object(let members):
            Tree.list(members, "{", "}", &out) {
                $1.appendJSON($0.key)
                $1.append(byte: UInt8(ascii: ":"))
                $0.value.write(to: &$1)
            }
        }
    }

    private static func list<Item>(
        _ items: [Item], _ open: StaticString, _ close: StaticString, _ out: inout ByteBuffer,
        _ write: (Item, inout ByteBuffer) -> Void
    ) {
        out.append(open)
        for (index, item) in items.enumerated() {
            if index > 0 { out.append(",") }
            write(item, &out)
        }
        out.append(close)
    }

    /// The value as text without white space, and with only the necessary escapes.
    var text: String {
        var out = ByteBuffer()
        write(to: &out)
        return out.text
    }
}
