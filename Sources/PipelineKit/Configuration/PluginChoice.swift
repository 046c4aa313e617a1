import JSON

/// A plugin that a pipeline file chooses for a stage: by name, `policy: latest`, or with settings,
/// `policy: {use: quiet-hours, from: 22h}`.
public struct PluginChoice: Sendable {
    /// The plugin's registered name.
    public let kind: String
    /// The plugin's own settings. They may also contain the key `use`, which does not count as unknown.
    public let settings: SettingsReader

    /// A plugin without settings of its own.
    public init(_ kind: String) {
        self.kind = kind
        settings = SettingsReader(
            entries: [], file: "settings", folder: "/", keyPath: "", place: Place(line: 0, column: 0))
    }

    /// A plugin with settings of its own.
    package init(kind: String, settings: SettingsReader) {
        self.kind = kind
        self.settings = settings
    }

    /// The error for a name that is not registered. `what` is the error's word for the plugin: `policy` or `transport`.
    package func unknown(_ what: String, known: [String]) -> SettingsError {
        let near = Spelling.suggestion(for: kind, among: known).map { $0 + " " } ?? ""
        let (reason, hint) = ("unknown \(what) '\(kind)'", "\(near)known: \(known.joined(separator: ", "))")
        guard !settings.contains("use") else { return settings.fail("use", reason, hint: hint) }
        return SettingsError(
            file: settings.file, at: settings.place, keyPath: settings.keyPath, reason: reason, hint: hint)
    }
}

extension SettingsReader {
    /// The plugin that the key chooses. The key's value is the plugin's name, or a mapping that has the name under
    /// `use` and the plugin's settings beside it. If the key is missing, returns the default plugin without settings.
    public mutating func plugin(_ key: String, default standard: String) throws(SettingsError) -> PluginChoice {
        let path = path(to: key)
        note(key, "name, or mapping with `use`", default: standard)
        guard let node = try optional(key, { node throws(Complaint) in try SettingsReader.nameOrMapping(node) }) else {
            return PluginChoice(kind: standard, settings: nested([], path, entryPlace(key)))
        }
        switch node.content {
        case .mapping(let entries):
            var settings = nested(entries, path, entryPlace(key))
            return PluginChoice(kind: try settings.string("use"), settings: settings)
        case .scalar(let name, _): return PluginChoice(kind: name, settings: nested([], path, node.place))
        default: throw fail(key, "expected a name or a mapping")
        }
    }

    private static func nameOrMapping(_ node: SettingsNode) throws(Complaint) -> SettingsNode {
        switch node.content {
        case .mapping, .scalar: node
        default: throw node.unexpected("a name, or a mapping with use")
        }
    }
}
