/// A place in a text, counted from 1.
struct Place: Equatable, Sendable {
    let line: Int
    let column: Int
}

/// A YAML value. The code that reads a setting decides the value's type.
struct SettingsNode: Sendable {
    enum Content: Sendable {
        /// A key with no value, or `null`.
        case nothing
        /// `plain` for a plain scalar of YAML: without quotes, and not a block after `|` or `>`.
        case scalar(String, plain: Bool)
        case list([SettingsNode])
        case mapping([Entry])
    }

    struct Entry: Sendable {
        let key: String
        let place: Place
        let value: SettingsNode
    }

    var content: Content
    let place: Place
    /// The ``Seal`` of the secret or file that this value contains or names; nil if it has no seal.
    var seal: String?
    /// Whether the value is a secret in clear. The recorded settings leave such a value out.
    var isSecret = false
}

extension SettingsNode {
    /// The value in an error message.
    var textInErrors: String {
        switch content {
        case .scalar(let text, plain: true): Self.cut(text)
        case .scalar(let text, plain: false): "the string \"\(Self.cut(text))\""
        case .nothing, .list, .mapping: kindOfValue
        }
    }

    /// The kind of the value in an error message that must not repeat the value.
    var kindOfValue: String {
        switch content {
        case .nothing: "nothing"
        case .scalar: "a string"
        case .list: "a list"
        case .mapping: "a mapping"
        }
    }

    /// As much of a text as an error message quotes.
    private static func cut(_ text: String) -> String {
        text.count > 60 ? text.prefix(60) + "…" : text
    }

    func scalar(expecting wanted: String) throws(Complaint) -> (text: String, plain: Bool) {
        guard case .scalar(let text, let plain) = content else { throw unexpected(wanted) }
        return (text, plain)
    }

    func text(expecting wanted: String) throws(Complaint) -> String {
        try scalar(expecting: wanted).text
    }

    func list(expecting wanted: String, hint: String? = nil) throws(Complaint) -> [SettingsNode] {
        guard case .list(let items) = content else { throw unexpected(wanted, hint: hint) }
        return items
    }

    /// A key without a value counts as an empty mapping, because the mapping's contents may be commented out.
    func mapping(expecting wanted: String) throws(Complaint) -> [Entry] {
        switch content {
        case .mapping(let entries): return entries
        case .nothing: return []
        default: throw unexpected(wanted)
        }
    }

    func unexpected(_ wanted: String, hint: String? = nil) -> Complaint {
        Complaint("expected \(wanted), found \(textInErrors)", hint: hint)
    }
}
