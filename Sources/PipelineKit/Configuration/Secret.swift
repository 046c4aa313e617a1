import Foundation
import JSON

/// A secret as the pipeline file names it: by a file, an environment variable or a credential of systemd's. Some settings
/// may also hold its own text (``SettingsReader/secretOrText(_:)``).
///
/// Holding one that is named reveals nothing, so that only the process that uses a secret needs to be able to read it.
public struct Secret: Sendable {
    enum Source: Sendable, Equatable {
        case file(String)
        case environment(String)
        /// The name of a file in the folder that systemd gives a service (systemd.exec, "Credentials").
        case credential(String)
        /// Its own text, in the pipeline file.
        case text(String)
        /// The settings are on record, where a secret that stood in clear is left out.
        case leftOut
    }

    let source: Source
    private let error: SettingsError

    fileprivate init(_ source: Source, error: SettingsError) {
        self.source = source
        self.error = error
    }

    /// - Throws: `error`, with what is wrong with how the secret is named.
    init(_ node: SettingsNode, folder: String, error: SettingsError) throws(SettingsError) {
        do throws(Complaint) {
            self.init(try Source(node, folder: folder), error: error)
        } catch let complaint {
            throw error.saying(complaint)
        }
    }

    /// Where it stands, if it stands in a file that the pipeline file names.
    package var file: String? {
        guard case .file(let path) = source else { return nil }
        return path
    }

    /// The text, where the pipeline file itself has it.
    public var textInClear: String? {
        guard case .text(let text) = source else { return nil }
        return text
    }

    /// Whether ``reveal(environment:)`` would give it to this process.
    public var isReadable: Bool {
        do throws(SettingsError) { return try !reveal().isEmpty } catch { return false }
    }

    /// Reads the secret, without the one newline that editors put at the end of a file.
    ///
    /// - Throws: An error at the secret's place in the pipeline file if it cannot be read, is empty, or stands
    ///   in a file that others than its owner may read, or than the service that its credential is for.
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

    /// What is made of the secret's text.
    ///
    /// - Parameter fault: What is wrong with the text where `make` throws: "holds no key".
    /// - Throws: An error at the secret's place in the pipeline file.
    package func check<Made>(
        _ fault: String, hint: String? = nil, _ make: () throws -> Made
    ) throws(SettingsError) -> Made {
        do { return try make() } catch { throw failure(fault, hint: hint) }
    }

    /// The error at the secret's place in the pipeline file for what it holds.
    ///
    /// - Parameter fault: What is wrong with it, behind where it is: "holds no key".
    package func failure(_ fault: String, hint: String? = nil) -> SettingsError {
        error.saying(Complaint("\(name) \(fault)", hint: hint))
    }

    private var name: String {
        switch source {
        case .file(let path): path
        case .environment(let variable): "the environment variable \(variable)"
        case .credential(let name): "the credential \(name)"
        case .text: "the pipeline file"
        case .leftOut: "a record of the settings, which leaves it out"
        }
    }

    private func read(_ environment: [String: String]) throws(Complaint) -> String {
        switch source {
        case .file(let path): return try Self.text(of: path, readers: .owner)
        case .credential(let name): return try Self.text(ofCredential: name, environment)
        case .environment(let variable):
            guard let value = environment[variable] else { throw Complaint("\(name) is not set") }
            return value
        case .text(let text): return text
        case .leftOut: throw Complaint("it stood in clear, and is left out of the record of the settings")
        }
    }

    private static func text(of path: String, readers: ConfigurationFile.Readers) throws(Complaint) -> String {
        let bytes = try ConfigurationFile.read(path, bytesMax: bytesMax, readers: readers)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Complaint("\(path) is not UTF-8 text") }
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    private static func text(ofCredential name: String, _ environment: [String: String]) throws(Complaint) -> String {
        let hint = "write LoadCredential=\(name):/PATH under [Service] in the unit file"
        guard let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty else {
            throw Complaint("there is no credential \(name): CREDENTIALS_DIRECTORY is not set", hint: hint)
        }
        do throws(Complaint) {
            return try text(of: FilePathText.join(folder, name), readers: .service)
        } catch {
            throw Complaint(error.reason, hint: error.hint ?? hint)
        }
    }

    private static let bytesMax = 64 << 10
}

extension Secret: CustomStringConvertible {
    /// Where it is, not what it is.
    public var description: String { "secret in \(name)" }
}

extension SettingsReader {
    /// A secret: `{$file: PATH}`, `{$env: NAME}` or `{$credential: NAME}`. A text written in the pipeline file itself is
    /// refused.
    public mutating func secret(_ key: String) throws(SettingsError) -> Secret {
        note(key, "secret")
        let error = fail(key, "")
        let folder = folder
        return try required(key, placeholder: Secret(.environment(""), error: error)) { node throws(Complaint) in
            Secret(try Secret.Source(node, folder: folder), error: error)
        }
    }

    /// As ``secret(_:)``; nil if the key is missing.
    public mutating func optionalSecret(_ key: String) throws(SettingsError) -> Secret? {
        note(key, "secret")
        let error = fail(key, "")
        let folder = folder
        return try optional(key) { node throws(Complaint) in
            Secret(try Secret.Source(node, folder: folder), error: error)
        }
    }

    /// A text that may be secret: as ``secret(_:)`` takes it, or the text itself. A plugin that reads one names its key in
    /// ``PluginSettings/secretKeys``: then a text in clear is warned of, and not put on record.
    public mutating func secretOrText(_ key: String) throws(SettingsError) -> Secret {
        note(key, "secret or text")
        let error = fail(key, "")
        let folder = folder
        return try required(key, placeholder: Secret(.text(""), error: error)) { node throws(Complaint) in
            switch node.content {
            case .scalar(let text, _): return Secret(.text(text), error: error)
            case .mapping: return Secret(try Secret.Source(node, folder: folder), error: error)
            default: throw node.unexpected("a text, or {$file: PATH}")
            }
        }
    }
}

extension SettingsReader {
    /// One secret, or a list of them; none if the key is missing.
    public mutating func secrets(_ key: String, countMax: Int) throws(SettingsError) -> [Secret] {
        note(key, "secret or list of secrets")
        let error = fail(key, "")
        let folder = folder
        return try optional(key) { node throws(Complaint) in
            guard case .list(let items) = node.content else {
                return [Secret(try Secret.Source(node, folder: folder), error: error)]
            }
            guard 1...countMax ~= items.count else { throw Complaint("takes one to \(countMax) secrets") }
            return try items.map { item throws(Complaint) in
                Secret(try Secret.Source(item, folder: folder), error: error)
            }
        } ?? []
    }
}

extension Secret.Source {
    fileprivate init(_ node: SettingsNode, folder: String) throws(Complaint) {
        guard case .mapping(let entries) = node.content, entries.count == 1 else { throw Self.malformed() }
        let key = entries[0].key
        if key == Self.leftOutKey {
            self = .leftOut
            return
        }
        guard Self.keys.contains(key) else { throw Self.malformed(key) }
        let text = try entries[0].value.text("a text")
        switch key {
        case Self.fileKey: self = .file(FilePathText.join(folder, text))
        case "$env": self = .environment(text)
        default: self = .credential(try Self.checked(credential: text))
        }
    }

    static let fileKey = "$file"
    /// In a record of settings: what stood there was a secret in clear.
    static let leftOutKey = "$leftOut"
    private static let keys = [fileKey, "$env", "$credential"]

    /// - Parameter key: What stands in the place of one of ours.
    private static func malformed(_ key: String? = nil) -> Complaint {
        let meant = key.flatMap { Spelling.suggestion(for: $0, among: keys) }.map { $0 + " " } ?? ""
        return Complaint(
            "a secret is not written here", hint: meant + "write {$file: PATH}, {$env: NAME} or {$credential: NAME}")
    }

    /// The name of a file, and no way out of its folder.
    private static func checked(credential name: String) throws(Complaint) -> String {
        guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
            throw Complaint("a credential has the name of a file", hint: "write one like {$credential: apns-key}")
        }
        return name
    }
}
