import EventLog

/// The data folder of a pipeline file: `data: PATH`, or `data: {path: PATH, mode: "0750"}`.
struct DataSettings: PluginSettings {
    /// Nil if `data` is a mapping without `path`. The default path then applies.
    private let pathInFile: String?
    let mode: DataMode
    private(set) var path = ""

    init(path: String) { (pathInFile, mode, self.path) = (path, .owner, path) }

    init(from settings: inout SettingsReader) throws(SettingsError) {
        pathInFile = try settings.optionalPath("path")
        settings.note("mode", "mode of folders, octal", default: "0700")
        mode = try settings.optional("mode") { node throws(Complaint) in try Self.mode(node) } ?? .owner
    }

    fileprivate func with(defaultPath: String) -> DataSettings {
        var settings = self
        settings.path = pathInFile ?? defaultPath
        return settings
    }

    private static func mode(_ node: SettingsNode) throws(Complaint) -> DataMode {
        let text = try node.text(expecting: "a mode")
        let digits = text.drop { $0 == "0" }
        guard digits.count == 3, text.count <= 4, digits.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
            let mode = UInt32(digits, radix: 8)
        else {
            throw Complaint("expected a folder mode (octal, 0100 to 0777), found \(node.textInErrors)", hint: hint)
        }
        guard mode & 0o700 == 0o700 else {
            throw Complaint("with mode \(text) the stages themselves could not use the folder", hint: hint)
        }
        guard mode & 0o002 == 0 else {
            throw Complaint("with mode \(text) everybody could change the logs", hint: hint)
        }
        return DataMode(folders: mode)
    }

    private static let hint = "write one like \"0700\" (the owner alone) or \"0750\" (the group may read)"
}

extension SettingsReader {
    mutating func data(default standard: String) throws(SettingsError) -> DataSettings {
        note("data", "path, or mapping", default: standard)
        let node = try optional("data") { (node) throws(Complaint) -> SettingsNode in
            switch node.content {
            case .mapping, .scalar: return node
            default: throw node.unexpected("a folder, or a mapping with path and mode")
            }
        }
        guard case .mapping? = node?.content else {
            return DataSettings(path: try path("data", default: standard))
        }
        let settings = try mapping("data", as: DataSettings.self)
        return settings?.with(defaultPath: resolve(standard)) ?? DataSettings(path: resolve(standard))
    }
}
