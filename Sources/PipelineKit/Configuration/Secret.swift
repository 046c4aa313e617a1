import Foundation
import JSON

/// A secret in a pipeline file: a file, an environment variable or a systemd credential. Some settings also accept the
/// secret's text (``SettingsReader/secretOrText(_:)``).
///
/// Only ``reveal(environment:)`` reads the secret, so a process that does not use a secret need not be able to read it.
public struct Secret: Sendable {
    enum Source: Sendable, Equatable {
        case file(String)
        case environment(String)
        /// The name of a file in the folder that systemd gives a service (systemd.exec, "Credentials").
        case credential(String)
        /// The secret's text, which is in the pipeline file itself.
        case text(String)
        /// A secret whose text was in the pipeline file itself, so the recorded settings leave it out.
        case leftOut
    }

    let source: Source
    private let error: SettingsError

    fileprivate init(_ source: Source, error: SettingsError) {
        self.source = source
        self.error = error
    }

    /// - Throws: `error` with a reason, if the node is not a valid notation of a secret.
    init(_ node: SettingsNode, folder: String, error: SettingsError) throws(SettingsError) {
        do throws(Complaint) {
            self.init(try Source(node, folder: folder), error: error)
        } catch let complaint {
            throw error.saying(complaint)
        }
    }

    /// The file with the secret; nil for other sources.
    package var file: String? {
        guard case .file(let path) = source else { return nil }
        return path
    }

    /// The file with the secret, also if it is a systemd credential; nil for other sources.
    package var path: String? {
        switch source {
        case .file(let path): path
        case .credential(let name):
            ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"].map { FilePathText.join($0, name) }
        default: nil
        }
    }

    /// The secret's text, if the pipeline file itself contains it; otherwise nil.
    public var textInClear: String? {
        guard case .text(let text) = source else { return nil }
        return text
    }

    /// Whether this process can read the secret, and the secret is not empty.
    public var isReadable: Bool {
        do throws(SettingsError) { return try !reveal().isEmpty } catch { return false }
    }

    /// Reads the secret. If the text of a file or a credential ends with a newline, this one newline is removed,
    /// because editors add it. A text in the pipeline file itself is returned as it is, even if it is empty.
    ///
    /// - Throws: An error at the secret's place in the pipeline file, if the secret cannot be read, is empty, is left
    ///   out of recorded settings, or is in a file that too many users may read.
    public func reveal(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(SettingsError) -> String {
        if let textInClear { return textInClear }
        do throws(Complaint) {
            let text = try read(environment)
            guard !text.isEmpty else { throw Complaint("\(name) is empty") }
            return text
        } catch let complaint {
            throw error.saying(complaint)
        }
    }

    /// Calls `make`, which uses the secret's text. If `make` throws, throws the error of ``failure(_:hint:)`` instead.
    package func check<Made>(
        _ fault: String, hint: String? = nil, _ make: () throws -> Made
    ) throws(SettingsError) -> Made {
        do { return try make() } catch { throw failure(fault, hint: hint) }
    }

    /// An error at the secret's place in the pipeline file: its source, then `fault`, such as "holds no key".
    package func failure(_ fault: String, hint: String? = nil) -> SettingsError {
        error.saying(Complaint("\(name) \(fault)", hint: hint))
    }

    private var name: String {
        switch source {
        case .file(let path): path
        case .environment(let variable): "the environment variable \(variable)"
        case .credential(let name): "the credential \(name)"
        case .text: "the pipeline file"
        case .leftOut: "the recorded settings, without its text"
        }
    }

    private func read(_ environment: [String: String]) throws(Complaint) -> String {
        switch source {
        case .file(let path): return try ConfigurationFile.secret(path)
        case .credential(let name): return try Self.text(ofCredential: name, environment)
        case .environment(let variable):
            guard let value = environment[variable] else { throw Complaint("\(name) is not set") }
            return value
        case .text(let text): return text
        case .leftOut:
            throw Complaint("the pipeline file contained the secret in clear, so the recorded settings leave it out")
        }
    }

    private static func text(ofCredential name: String, _ environment: [String: String]) throws(Complaint) -> String {
        let hint = "write LoadCredential=\(name):/PATH under [Service] in the unit file"
        guard let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty else {
            throw Complaint("there is no credential \(name): CREDENTIALS_DIRECTORY is not set", hint: hint)
        }
        do throws(Complaint) {
            return try ConfigurationFile.secret(FilePathText.join(folder, name), readers: .service)
        } catch {
            throw Complaint(error.reason, hint: error.hint ?? hint)
        }
    }
}

extension Secret: CustomStringConvertible {
    /// The source of the secret, never its text.
    public var description: String { "secret in \(name)" }
}

extension SettingsReader {
    /// A secret: `{$file: PATH}`, `{$env: NAME}` or `{$credential: NAME}`. Text in the pipeline file is refused.
    public mutating func secret(_ key: String) throws(SettingsError) -> Secret {
        note(key, "secret")
        return try required(key, placeholder: Secret(.environment(""), error: fail(key, "")), secretReading(key))
    }

    /// As ``secret(_:)``; nil if the key is missing.
    public mutating func optionalSecret(_ key: String) throws(SettingsError) -> Secret? {
        note(key, "secret")
        return try optional(key, secretReading(key))
    }

    private func secretReading(_ key: String) -> (SettingsNode) throws(Complaint) -> Secret {
        let (error, folder) = (fail(key, ""), folder)
        return { node throws(Complaint) in Secret(try Secret.Source(node, folder: folder), error: error) }
    }

    /// As ``secret(_:)``, or a string. A plugin names the key in ``PluginSettings/secretKeys``, so that a text in clear
    /// causes a warning and is not recorded.
    public mutating func secretOrText(_ key: String) throws(SettingsError) -> Secret {
        note(key, "secret or string")
        let (error, read) = (fail(key, ""), secretReading(key))
        return try required(key, placeholder: Secret(.text(""), error: error)) { node throws(Complaint) in
            switch node.content {
            case .scalar(let text, _): return Secret(.text(text), error: error)
            case .mapping: return try read(node)
            default: throw node.unexpected("a string, or {$file: PATH}")
            }
        }
    }

    /// One secret, or a list of secrets; empty if the key is missing.
    public mutating func secrets(_ key: String, countMax: Int) throws(SettingsError) -> [Secret] {
        note(key, "secret or list of secrets")
        let read = secretReading(key)
        return try optional(key) { node throws(Complaint) in
            guard case .list(let items) = node.content else { return [try read(node)] }
            guard 1...countMax ~= items.count else {
                throw Complaint("expected 1 to \(countMax) secrets, found \(items.count)")
            }
            return try items.map(read)
        } ?? []
    }
}

extension Secret.Source {
    fileprivate init(_ node: SettingsNode, folder: String) throws(Complaint) {
        guard case .mapping(let entries) = node.content else { throw Self.notASource(node.kindOfValue) }
        guard entries.count == 1 else { throw Self.notASource("a mapping with \(entries.count) keys") }
        let key = entries[0].key
        if key == Self.leftOutKey {
            self = .leftOut
            return
        }
        guard Self.keys.contains(key) else { throw Self.unknown(key) }
        let text = try entries[0].value.text(expecting: "a string")
        switch key {
        case Self.fileKey: self = .file(FilePathText.join(folder, text))
        case "$env": self = .environment(text)
        default: self = .credential(try Self.checked(credential: text))
        }
    }

    static let fileKey = "$file"
    /// The key that recorded settings have in place of a secret's text that was in the pipeline file.
    static let leftOutKey = "$leftOut"
    private static let keys = [fileKey, "$env", "$credential"]

    private static let sources = "write {$file: PATH}, {$env: NAME} or {$credential: NAME}"

    /// - Parameter found: What was found. It must not contain the value, which may be the secret itself.
    private static func notASource(_ found: String) -> Complaint {
        Complaint("expected the source of a secret, found \(found)", hint: sources)
    }

    /// The error for an unknown key. It contains the key only if the key resembles a known one, because any other key
    /// may be the secret itself.
    private static func unknown(_ key: String) -> Complaint {
        guard let meant = Spelling.suggestion(for: key, among: keys) else {
            return notASource("a mapping with an unknown key")
        }
        return Complaint("unknown key \"\(key)\" in a secret", hint: "\(meant) \(sources)")
    }

    /// Checks a credential's name. It is a file name and must not lead out of the folder of credentials.
    private static func checked(credential name: String) throws(Complaint) -> String {
        guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
            throw Complaint("\"\(name)\" is not a file name", hint: "write one like {$credential: apns-key}")
        }
        return name
    }
}
