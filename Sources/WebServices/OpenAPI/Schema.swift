import JSON

/// A part of a JSON Schema in an OpenAPI document (version 3.1).
indirect enum Schema: Sendable {
    case text
    /// A string that matches a regular expression from its start to its end.
    case pattern(String)
    /// One of these strings.
    case word([String])
    /// A whole number of at least 1.
    case count(atMost: Int?)
    case number
    case flag
    case alwaysTrue
    case null
    case any
    case list(Schema, atLeast: Int = 0, atMost: Int?)
    /// An object that may have members beyond the listed ones.
    case object([Member])
    /// An object whose keys a regular expression describes.
    case map(keys: String, Schema)
    case named(String)
    case anyOf([Schema])

    /// Whether the schema is an object with required members.
    var hasRequiredMembers: Bool {
        guard case .object(let members) = self else { return false }
        return members.contains(where: \.isRequired)
    }

    struct Member: Sendable {
        let name: String
        let schema: Schema
        let isRequired: Bool
    }

    func write(into json: inout ByteBuffer) {
        json.object { json in
            switch self {
            case .text: json.append("type", "string")
            case .pattern(let pattern):
                json.append("type", "string")
                json.append("pattern", "^(\(pattern))$")
            case .word(let words):
                json.append("type", "string")
                json.append("enum", words)
            case .count(let max):
                json.append("type", "integer")
                json.append("minimum", 1)
                json.append("maximum", max)
            case .number: json.append("type", "number")
            case .flag: json.append("type", "boolean")
            case .alwaysTrue: json.append("const", true)
            case .null: json.append("type", "null")
            case .any: break
            case .list(let element, let min, let max):
                json.append("type", "array")
                if min > 0 { json.append("minItems", min) }
                json.append("maxItems", max)
                json.append(member: "items")
                element.write(into: &json)
            case .object(let members): Self.write(members, into: &json)
            case .map(let keys, let value):
                json.append("type", "object")
                json.append(member: "propertyNames")
                Schema.pattern(keys).write(into: &json)
                json.append(member: "additionalProperties")
                value.write(into: &json)
            case .named(let name): json.append("$ref", "#/components/schemas/\(name)")
            case .anyOf(let schemas): json.append("anyOf", schemas) { $1.write(into: &$0) }
            }
        }
    }

    private static func write(_ members: [Member], into json: inout ByteBuffer) {
        json.append("type", "object")
        json.append(member: "properties")
        json.object { json in
            for member in members {
                json.append(key: member.name)
                member.schema.write(into: &json)
            }
        }
        let required = members.filter(\.isRequired).map(\.name)
        if !required.isEmpty { json.append("required", required) }
    }
}

extension Schema.Member {
    static func required(_ name: String, _ schema: Schema) -> Schema.Member {
        Schema.Member(name: name, schema: schema, isRequired: true)
    }

    /// An optional member that may also be null, which means the same as a missing member.
    static func optionalOrNull(_ name: String, _ schema: Schema) -> Schema.Member {
        optional(name, .anyOf([schema, .null]))
    }

    static func optional(_ name: String, _ schema: Schema) -> Schema.Member {
        Schema.Member(name: name, schema: schema, isRequired: false)
    }
}
