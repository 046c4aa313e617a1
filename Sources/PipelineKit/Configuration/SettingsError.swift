/// One mistake in a pipeline file: the place, the reason, and what to write instead.
public struct SettingsError: Error, Hashable, Sendable {
    /// The file as the operator named it.
    public var file: String
    /// Counted from 1; 0 for a mistake of the whole file.
    public var line: Int
    /// Counted from 1, in Unicode scalars; 0 for a mistake of the whole file.
    public var column: Int
    /// The path of the setting, such as `stages.coalesce.window`; empty if the mistake is not in one setting, as with
    /// invalid YAML.
    public var keyPath: String
    /// What is wrong.
    public var reason: String
    /// What the operator can do.
    public var hint: String?

    /// Without `line` and `column`, the error is about the whole file.
    public init(
        file: String, line: Int = 0, column: Int = 0, keyPath: String = "", reason: String, hint: String? = nil
    ) {
        self.file = file
        self.line = line
        self.column = column
        self.keyPath = keyPath
        self.reason = reason
        self.hint = hint
    }

    init(file: String, at place: Place, keyPath: String = "", reason: String, hint: String? = nil) {
        self.init(
            file: file, line: place.line, column: place.column, keyPath: keyPath, reason: reason, hint: hint)
    }
}

extension SettingsError: CustomStringConvertible {
    /// One line that editors and terminals can follow: `file:line:column: key.path: reason; hint`.
    public var description: String {
        let place = line > 0 ? ":\(line):\(column)" : ""
        let key = keyPath.isEmpty ? "" : "\(keyPath): "
        return "\(file)\(place): \(key)\(reason)" + (hint.map { "; \($0)" } ?? "")
    }
}

extension SettingsError {
    /// The same error with the reason and hint of a complaint.
    func saying(_ complaint: Complaint) -> SettingsError {
        var error = self
        (error.reason, error.hint) = (complaint.reason, complaint.hint)
        return error
    }

    /// For an unknown key: the path of the key that was probably meant.
    fileprivate var meantKeyPath: String? {
        guard reason == "unknown key", let meant = hint?.firstMatch(of: /did you mean "([^"]*)"/)?.1 else { return nil }
        return keyPath.lastIndex(of: ".").map { "\(keyPath[...$0])\(meant)" } ?? String(meant)
    }
}

/// All mistakes found in a pipeline file, in the order of the file. Never empty.
///
/// A mistyped required key counts as one mistake: the unknown key is reported, not the missing one.
public struct PipelineFileError: Error, Equatable, Sendable {
    /// Sorted by line and column.
    public let errors: [SettingsError]

    /// - Parameter errors: At least one.
    public init(_ errors: [SettingsError]) {
        precondition(!errors.isEmpty, "a pipeline file was refused without a reason")
        let mistyped = Set(errors.compactMap(\.meantKeyPath))
        self.errors = errors.filter { $0.reason != "required" || !mistyped.contains($0.keyPath) }
            .sorted { ($0.line, $0.column) < ($1.line, $1.column) }
    }
}

extension PipelineFileError {
    /// The first error, for callers that can report only one.
    public var first: SettingsError { errors[0] }
}

extension PipelineFileError: CustomStringConvertible {
    /// One line for each error.
    public var description: String {
        errors.map(\.description).joined(separator: "\n")
    }
}

/// What is wrong with a value, without its place.
struct Complaint: Error {
    let reason: String
    let hint: String?

    init(_ reason: String, hint: String? = nil) {
        self.reason = reason
        self.hint = hint
    }
}
