import JSON
import Time

/// What a plugin reads from its part of the pipeline file. Stages and transports conform with their settings.
///
/// Decoding checks and touches nothing outside: files, sockets and secrets are opened later.
public protocol PluginSettings: Sendable {
    /// Reads every key the plugin knows. The caller checks that no other key stands there.
    init(from settings: inout SettingsReader) throws(SettingsError)

    /// The settings whose defaults are no longer what they were.
    static var changedDefaults: [ChangedDefault] { get }

    /// Keys, at any depth, whose values are paths of files that count like settings: a certificate, as secrets do.
    static var fileKeys: Set<String> { get }

    /// Keys, at any depth, whose texts may be secrets: `validate` warns of one that stands in the pipeline file in clear, and
    /// a record of the settings has its seal alone. Texts below such a key count too; an address that only says where
    /// something is, without a user and a query, does not.
    static var secretKeys: Set<String> { get }

    /// The certificates that are over, or soon will be.
    func endingCertificates(at now: Instant) -> [EndingCertificate]

    /// Checks the contents of the secrets that this process can read, such as whether a file that should hold a key
    /// holds one. Called when a pipeline file is checked, never when a stage runs.
    ///
    /// - Returns: Everything that a stage would refuse when it starts, in words that show no secret.
    func secretErrors() -> [any Error]
}

extension PluginSettings {
    public static var changedDefaults: [ChangedDefault] { [] }
    public static var fileKeys: Set<String> { [] }
    public static var secretKeys: Set<String> { [] }
    public func endingCertificates(at now: Instant) -> [EndingCertificate] { [] }
    public func secretErrors() -> [any Error] { [] }
}

/// Reads one mapping of a pipeline file, strictly: each value has a type, a range and one default, and
/// ``finish()`` refuses every key that nobody asked for.
///
/// A key that is missing, and an optional value's key that is missing, take the default; a key that stands there
/// without a value is an error.
public struct SettingsReader: Sendable {
    let file: String
    /// Where relative paths begin.
    let folder: String
    /// The keys that lead here, as in `stages.coalesce`; empty at the top.
    let keyPath: String
    /// Where this mapping is named: what is missing in it is reported there.
    let place: Place
    private let entries: [String: SettingsNode.Entry]
    private let order: [String]
    private(set) var knownKeys: [String] = []
    /// Key paths already reported. They are read as if they were missing, so that the rest can be checked too.
    var excused: Set<String> = []

    init(entries: [SettingsNode.Entry], file: String, folder: String, keyPath: String, place: Place) {
        self.file = file
        self.folder = folder
        self.keyPath = keyPath
        self.place = place
        self.order = entries.map(\.key)
        self.entries = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0) })
    }

    var nodes: [SettingsNode.Entry] { order.compactMap { entries[$0] } }

    /// All keys, in the order of the file.
    public var keys: [String] { order }

    /// The keys that a plugin asks for, those that its settings share with others included.
    package func keys<Settings: PluginSettings>(of type: Settings.Type) throws(SettingsError) -> [String] {
        var reader = self
        _ = try Settings(from: &reader)
        return reader.knownKeys
    }

    /// Whether the key stands in the file, with or without a value.
    public func contains(_ key: String) -> Bool {
        entries[key] != nil
    }

    /// Call when every known key was asked for.
    ///
    /// - Throws: The first unknown key, with the nearest known one and all that are known.
    public func finish() throws(SettingsError) {
        guard let key = order.first(where: { !knownKeys.contains($0) && !excused.contains(path(to: $0)) }),
            let entry = entries[key]
        else { return }
        let known = knownKeys.isEmpty ? "no key is known here" : "known: \(knownKeys.joined(separator: ", "))"
        let hint = [Spelling.suggestion(for: key, among: knownKeys), known].compactMap { $0 }.joined(separator: " ")
        throw SettingsError(file: file, at: entry.place, keyPath: path(to: key), reason: "unknown key", hint: hint)
    }

    /// Whether a mistake in the key's value was told already: nobody knows what was meant, so what depends on it cannot be
    /// judged.
    public func isExcused(_ key: String) -> Bool { excused.contains(path(to: key)) }

    /// An error at a key's value, or at the mapping's name if the key is missing, for rules of the plugin's own.
    ///
    /// Where the key is missing and the reason begins with `required`, a key that nobody asked for and that was
    /// probably meant is named in its place.
    public func fail(_ key: String, _ reason: String, hint: String? = nil) -> SettingsError {
        if reason.hasPrefix("required"), let error = mistyped(key) { return error }
        return failAsIs(key, reason, hint: hint)
    }

    private func failAsIs(_ key: String, _ reason: String, hint: String? = nil) -> SettingsError {
        SettingsError(
            file: file, at: entries[key]?.value.place ?? place, keyPath: path(to: key), reason: reason, hint: hint)
    }

    /// The error for a key that nobody asked for so far and that is near a missing one.
    func mistyped(_ missing: String) -> SettingsError? {
        guard !contains(missing) else { return nil }
        let typo = order.first { !knownKeys.contains($0) && Spelling.nearest(to: $0, among: [missing]) != nil }
        guard let typo, let entry = entries[typo] else { return nil }
        return SettingsError(
            file: file, at: entry.place, keyPath: path(to: typo), reason: "unknown key",
            hint: Spelling.suggestion(for: typo, among: [missing]))
    }
}

extension SettingsReader {
    func path(to key: String) -> String {
        keyPath.isEmpty ? key : "\(keyPath).\(key)"
    }

    /// The key's value as `read` understands it, or nil if the key is missing.
    mutating func optional<Value>(
        _ key: String, _ read: (SettingsNode) throws(Complaint) -> Value
    ) throws(SettingsError) -> Value? {
        guard let node = ask(key) else { return nil }
        do {
            return try read(node)
        } catch {
            throw fail(key, error.reason, hint: error.hint)
        }
    }

    /// The key's value; `placeholder` after its absence was reported, when nobody will use the result any more.
    mutating func required<Value>(
        _ key: String, placeholder: Value, _ read: (SettingsNode) throws(Complaint) -> Value
    ) throws(SettingsError) -> Value {
        note(key, isRequired: true)
        if let value = try optional(key, read) { return value }
        // Keys asked for later may look like this one: finish() tells which are unknown.
        guard excused.contains(path(to: key)) else { throw failAsIs(key, "required") }
        return placeholder
    }

    mutating func know(_ key: String) { if !knownKeys.contains(key) { knownKeys.append(key) } }

    private mutating func ask(_ key: String) -> SettingsNode? {
        know(key)
        note(key)
        return excused.contains(path(to: key)) ? nil : entries[key]?.value
    }

    /// A reader for a mapping inside this one.
    func nested(_ entries: [SettingsNode.Entry], _ path: String, _ place: Place) -> SettingsReader {
        var reader = SettingsReader(entries: entries, file: file, folder: folder, keyPath: path, place: place)
        reader.excused = excused
        return reader
    }

    func entryPlace(_ key: String) -> Place {
        entries[key]?.place ?? place
    }
}

extension SettingsReader {
    /// Decodes a plugin's settings and refuses unknown keys.
    ///
    /// - Throws: All mistakes that can be told apart: after each, decoding begins again as if that key were missing.
    public func decode<Settings: PluginSettings>(_ type: Settings.Type) throws(PipelineFileError) -> Settings {
        var errors: [SettingsError] = []
        var reader = self
        reader.excused = []
        let settings = reader.collect(into: &errors) { reader throws(SettingsError) in
            let settings = try Settings(from: &reader)
            try reader.finish()
            return settings
        }
        guard let settings, errors.isEmpty else { throw PipelineFileError(errors) }
        return settings
    }

    /// Runs `body` until it finds nothing new to complain about; afterwards this reader knows the keys that it asked for.
    ///
    /// The result of a run after an error is only good for finding more errors.
    mutating func collect<Value>(
        into errors: inout [SettingsError], _ body: (inout SettingsReader) throws(SettingsError) -> Value
    ) -> Value? {
        let fresh = self
        var excused = excused
        while true {
            do {
                return try body(&self)
            } catch {
                guard excused.insert(error.keyPath).inserted else { return nil }
                errors.append(error)
            }
            self = fresh
            self.excused = excused
        }
    }
}
