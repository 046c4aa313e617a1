extension SettingsReader {
    /// A mapping inside this one, decoded and checked for unknown keys; nil if the key is missing.
    public mutating func mapping<Settings: PluginSettings>(
        _ key: String, as type: Settings.Type
    ) throws(SettingsError) -> Settings? {
        guard var reader = try mapping(key) else { return nil }
        let settings = try Settings(from: &reader)
        try reader.finish()
        return settings
    }

    /// Mappings by name, in the order of the file, each decoded and checked for unknown keys.
    public mutating func mappings<Settings: PluginSettings>(
        _ key: String, as type: Settings.Type
    ) throws(SettingsError) -> [(name: String, settings: Settings)] {
        var result: [(name: String, settings: Settings)] = []
        for (name, reader) in try mappings(key) {
            var reader = reader
            result.append((name, try Settings(from: &reader)))
            try reader.finish()
        }
        return result
    }

    /// A mapping inside this one, whose type is decided later; nil if the key is missing. The code that reads the
    /// mapping must call ``finish()``.
    public mutating func mapping(_ key: String) throws(SettingsError) -> SettingsReader? {
        let entries = try optional(key) { node throws(Complaint) in try node.mapping(expecting: "a mapping") }
        return entries.map { nested($0, path(to: key), entryPlace(key)) }
    }

    /// Mappings by name, in the order of the file, whose type is decided later. Empty if the key is missing.
    public mutating func mappings(
        _ key: String
    ) throws(SettingsError) -> [(name: String, settings: SettingsReader)] {
        guard let outer = try mapping(key) else { return [] }
        return try outer.keys.map { name throws(SettingsError) in
            var outer = outer
            let empty = nested([], outer.path(to: name), outer.entryPlace(name))
            return (name, try outer.mapping(name) ?? empty)
        }
    }

    /// Reads settings from a text that is not a whole pipeline file. Errors use `file` as the name of the text.
    /// Relative paths are resolved against `folder`, or against the folder of `file` if `folder` is nil.
    public init(text: String, file: String, folder: String? = nil) throws(PipelineFileError) {
        var errors: [SettingsError] = []
        let reader = try SettingsReader(text: text, file: file, folder: folder, errors: &errors)
        guard errors.isEmpty else { throw PipelineFileError(errors) }
        self = reader
    }

    /// - Parameter errors: Mistakes that leave the other parts usable.
    init(text: String, file: String, folder: String?, errors: inout [SettingsError]) throws(PipelineFileError) {
        do {
            let document = try SettingsDocument(text: text, file: file)
            errors += document.errors
            let entries = try document.root.mapping(expecting: "a mapping")
            self.init(
                entries: entries, file: file, folder: folder ?? FilePathText.folder(of: file), keyPath: "",
                place: document.root.place)
            excused = document.unreadable
        } catch let error as SettingsError {
            throw PipelineFileError([error])
        } catch {
            let reason = (error as? Complaint)?.reason ?? "\(error)"
            throw PipelineFileError([SettingsError(file: file, line: 1, column: 1, reason: reason)])
        }
    }
}
