import Yams

/// The YAML text of a file as a tree. Only this type and ``SettingsTree`` use the YAML library.
///
/// This type changes the library's behaviour in two ways:
///
/// - It follows aliases itself, up to a limit, because the parser could be made to expand a huge tree. The parser gets
///   a text in which every `*` is replaced by a character of the private use area, so it sees no aliases.
/// - It reports every repeated key, although the parser stops at the first. For this it replaces a repeated key's first
///   character with another character of the private use area, and parses again. If there are more than
///   ``duplicatesMax`` repeated keys, or if one of them begins with a character that cannot be replaced (see
///   ``KeyDisguise/hide(at:)``), it reports only the key at which the parser stopped last.
struct SettingsDocument {
    let root: SettingsNode
    /// Mistakes that leave the other parts usable, such as repeated keys, keys that are not strings, unsupported tags,
    /// and aliases without an anchor.
    let errors: [SettingsError]
    /// The key paths of values that could not be read because of an error.
    let unreadable: Set<String>

    static let bytesMax = 1 << 20
    /// How many values aliases may add.
    static let aliasedValuesMax = 10_000
    static let duplicatesMax = 100

    /// Replaces `*` in the parser's text.
    static let star: Unicode.Scalar = "\u{E000}"

    init(text: String, file: String) throws(SettingsError) {
        // The parser would count a byte order mark as a column.
        let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        try Self.check(text, file: file)
        var disguise = KeyDisguise(text.replacing("*", with: Self.star))
        // The nodes' anchors are only valid as long as their parser exists.
        let (node, parser) = try Self.compose(&disguise, source: text, file: file)
        guard let node else { throw Self.empty(file) }
        var tree = SettingsTree(file: file, disguise: disguise)
        root = withExtendedLifetime(parser) { tree.convert(node, at: "") }
        (errors, unreadable) = (tree.errors, tree.unreadable)
        if case .nothing = root.content { throw Self.empty(file) }
    }

    /// Parses the text. While the parser finds a repeated key, disguises that key and parses again.
    private static func compose(
        _ disguise: inout KeyDisguise, source: String, file: String
    ) throws(SettingsError) -> (Node?, Parser) {
        while true {
            do {
                let parser = try Parser(yaml: disguise.text, resolver: .basic, encoding: .utf8)
                return (try parser.singleRoot(), parser)
            } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
                let place = Place(line: context.mark.line, column: context.mark.column)
                guard disguise.count < duplicatesMax, disguise.hide(at: place) else {
                    throw SettingsError(file: file, at: place, keyPath: keys.first ?? "", reason: "written twice")
                }
            } catch {
                throw SettingsError(yaml: error, source: source, file: file)
            }
        }
    }

    private static func empty(_ file: String) -> SettingsError {
        SettingsError(
            file: file, reason: "the file has no settings", hint: "write at least \"pipeline\" and \"stages\"")
    }

    private static func check(_ text: String, file: String) throws(SettingsError) {
        guard text.utf8.count <= bytesMax else { throw SettingsError(file: file, reason: tooLarge) }
        var (line, column) = (1, 1)
        for scalar in text.unicodeScalars {
            guard isAllowed(scalar) else {
                let code = String(scalar.value, radix: 16, uppercase: true)
                let name = "U+" + String(repeating: "0", count: max(0, 4 - code.count)) + code
                throw SettingsError(
                    file: file, line: line, column: column, reason: "\(name) is not allowed in the file")
            }
            (line, column) = scalar == "\n" ? (line + 1, 1) : (line, column + 1)
        }
    }

    static var tooLarge: String { "the file is larger than \(Quantities.bytes.text(Int64(bytesMax)))" }

    // YAML 1.2.2, section 5.1: printable characters, except the private use area, which the disguise needs, and the
    // byte order mark, which is invisible.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x9, 0xA, 0xD, 0x85, 0x20...0x7E, 0xA0...0xDFFF, 0xF900...0xFEFE, 0xFF00...0xFFFD, 0x10000...: true
        default: false
        }
    }
}

extension SettingsError {
    /// The parser's error at its place. Replaces messages that are hard to understand.
    fileprivate init(yaml error: any Error, source: String, file: String) {
        switch error {
        case YamlError.composer(_, problem: "but found another document", let mark, _):
            self.init(
                file: file, line: mark.line, column: mark.column, reason: "a second YAML document begins",
                hint: "write each pipeline in a file of its own")
        case YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _),
            YamlError.composer(let context, let problem, let mark, _):
            let scalars = source.unicodeScalars
            let place = scalars.index(of: Place(line: mark.line, column: mark.column))
            let isTooDeep = problem.hasPrefix("Maximum nesting level")
            self.init(
                file: file, line: mark.line, column: mark.column,
                reason: isTooDeep ? "nested too deeply" : problem + (context.map { " \($0.text)" } ?? ""),
                hint: place.map { scalars[$0] } == "\t" ? "YAML is indented with spaces, this is a tab" : nil)
        default:
            self.init(file: file, reason: "\(error)")
        }
    }
}
