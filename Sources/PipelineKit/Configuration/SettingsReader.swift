import JSON
import Time

/// The settings of a plugin in a pipeline file. Decoding only checks: files, sockets and secrets are opened later.
public protocol PluginSettings: Sendable {
    /// Reads every key that the plugin knows. The caller refuses all other keys.
    init(from settings: inout SettingsReader) throws(SettingsError)

    /// The settings whose defaults have changed. Used only for stages.
    static var changedDefaults: [ChangedDefault] { get }

    /// Keys, at any depth, whose values are paths of files such as certificates. A change of such a file counts as a
    /// change of the settings. The property has an effect only in the settings of transports.
    static var fileKeys: Set<String> { get }

    /// Keys, at any depth, whose values may be secrets or contain secrets. If such a secret is in clear in the pipeline
    /// file, `belfry validate` warns, and a record of the settings contains at most the secret's seal. A URL without a
    /// user, a password and a query is not a secret. The property has an effect only in the settings of transports.
    static var secretKeys: Set<String> { get }

    /// The certificates that have expired or will expire soon. Used only for transports and the gateway.
    func endingCertificates(at now: Instant) -> [EndingCertificate]

    /// Checks the secrets that this process can read, such as whether a key file contains a key. Called when a pipeline
    /// file is checked, never when a stage runs. Called only for transports and the gateway.
    ///
    /// - Returns: The errors that a stage or the gateway would report when it starts; they show no secret.
    func secretErrors() -> [any Error]
}

extension PluginSettings {
    public static var changedDefaults: [ChangedDefault] { [] }
    public static var fileKeys: Set<String> { [] }
    public static var secretKeys: Set<String> { [] }
    public func endingCertificates(at now: Instant) -> [EndingCertificate] { [] }
    public func secretErrors() -> [any Error] { [] }
}

/// Reads one mapping of a pipeline file, strictly: a value of the wrong type or outside of its range is an error, and
/// ``finish()`` refuses every unknown key.
///
/// A missing key gets its default, or is an error if the key is required. A key without a value is an empty mapping
/// where a mapping is expected, and an error elsewhere.
public struct SettingsReader: Sendable {
    let file: String
    /// The folder against which relative paths are resolved.
    let folder: String
    /// The path to this mapping, such as `stages.coalesce`; empty at the top.
    let keyPath: String
    /// The place of this mapping's name. Missing keys are reported there.
    let place: Place
    private let entries: [String: SettingsNode.Entry]
    private let order: [String]
    private(set) var knownKeys: [String] = []
    /// Key paths with a reported mistake. They count as missing, so that all other keys can be checked too.
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

    /// The keys that a plugin reads, and the keys that this reader knew before, such as ``PipelineStage/commonKeys``.
    package func keys<Settings: PluginSettings>(of type: Settings.Type) throws(SettingsError) -> [String] {
        var reader = self
        _ = try Settings(from: &reader)
        return reader.knownKeys
    }

    /// Whether the mapping has the key, with or without a value.
    public func contains(_ key: String) -> Bool {
        entries[key] != nil
    }

    /// Checks for unknown keys. Must be called after all known keys were read.
    ///
    /// - Throws: An error at the first unknown key, with the nearest known key and all known keys.
    public func finish() throws(SettingsError) {
        guard let key = order.first(where: { !knownKeys.contains($0) && !excused.contains(path(to: $0)) }),
            let entry = entries[key]
        else { return }
        let known = knownKeys.isEmpty ? "no key is known here" : "known: \(knownKeys.joined(separator: ", "))"
        let hint = [Spelling.suggestion(for: key, among: knownKeys), known].compactMap { $0 }.joined(separator: " ")
        throw SettingsError(file: file, at: entry.place, keyPath: path(to: key), reason: "unknown key", hint: hint)
    }

    /// Whether a mistake in the key's value was already reported. Then other rules about the value cannot be checked.
    public func isExcused(_ key: String) -> Bool { excused.contains(path(to: key)) }

    /// An error for the plugin's own rules. The place of the error is the key's value or, if the key is missing, the
    /// mapping's name.
    ///
    /// If the key is missing and the reason begins with `required`, the key may have been mistyped. If an unknown key
    /// looks like the missing key, the unknown key is reported instead.
    public func fail(_ key: String, _ reason: String, hint: String? = nil) -> SettingsError {
        if reason.hasPrefix("required"), let error = mistyped(key) { return error }
        return failAsIs(key, reason, hint: hint)
    }

    private func failAsIs(_ key: String, _ reason: String, hint: String? = nil) -> SettingsError {
        SettingsError(
            file: file, at: entries[key]?.value.place ?? place, keyPath: path(to: key), reason: reason, hint: hint)
    }

    /// An error at a setting inside the mappings of this one, such as `hosts.a.address`. If the file lacks the setting,
    /// the place of the error is the name of the innermost mapping that should contain it.
    package func fail(atPath path: String, _ reason: String, hint: String? = nil) -> SettingsError {
        var (found, inner) = (place, nodes)
        for key in path.split(separator: ".") {
            guard let entry = inner.first(where: { $0.key == key }) else { break }
            if case .mapping(let entries) = entry.value.content {
                (found, inner) = (entry.place, entries)
            } else {
                (found, inner) = (entry.value.place, [])
            }
        }
        return SettingsError(file: file, at: found, keyPath: self.path(to: path), reason: reason, hint: hint)
    }

    /// The error for an unknown key that is probably the key `missing`, mistyped; nil if there is no such key.
    package func mistyped(_ missing: String) -> SettingsError? {
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

    /// The key's value, converted by `read`; nil if the key is missing.
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

    /// The key's value. If a mistake at the key was already reported, returns `placeholder`: the caller refuses the
    /// settings anyway.
    mutating func required<Value>(
        _ key: String, placeholder: Value, _ read: (SettingsNode) throws(Complaint) -> Value
    ) throws(SettingsError) -> Value {
        note(key, isRequired: true)
        if let value = try optional(key, read) { return value }
        // Does not look for a mistyped key, because a similar key may be read later. Only finish() knows which keys are
        // unknown.
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
    /// - Throws: All mistakes that can be found independently. After each mistake, decoding begins again without that
    ///   key.
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

    /// Runs `body` until it finds no new error. Afterwards this reader knows the keys that `body` has read.
    ///
    /// - Returns: The result of the last run of `body`; nil if this run failed too. If there were errors, do not use
    ///   the result: it may contain placeholders.
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
