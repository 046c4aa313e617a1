import JSON

extension SettingsReader {
    // MARK: Text

    /// A required string. Numbers and words like `yes` are strings too, as they are written.
    public mutating func string(_ key: String) throws(SettingsError) -> String {
        note(key, "string")
        return try required(key, placeholder: "") { node throws(Complaint) in try node.text(expecting: "a string") }
    }

    /// A string; the default if the key is missing.
    public mutating func string(_ key: String, default standard: String) throws(SettingsError) -> String {
        note(key, default: standard)
        return try optionalString(key) ?? standard
    }

    /// A string; nil if the key is missing.
    public mutating func optionalString(_ key: String) throws(SettingsError) -> String? {
        note(key, "string")
        return try optional(key) { node throws(Complaint) in try node.text(expecting: "a string") }
    }

    /// A list of strings; nil if the key is missing. A single string is refused; it must be written as `[one]`.
    public mutating func optionalStrings(_ key: String) throws(SettingsError) -> [String]? {
        note(key, "list of strings")
        return try optional(key) { node throws(Complaint) in
            let items = try node.list(expecting: "a list", hint: "write it as [one, two]")
            return try items.map { item throws(Complaint) in try item.text(expecting: "a list of strings") }
        }
    }

    /// A list of strings; the default if the key is missing.
    public mutating func strings(_ key: String, default standard: [String] = []) throws(SettingsError) -> [String] {
        try optionalStrings(key) ?? standard
    }

    /// A path. A relative path is resolved against the pipeline file's folder. The result has no component `.`, and no
    /// component `..` where possible. `~` is not expanded.
    public mutating func path(_ key: String) throws(SettingsError) -> String {
        let path = resolve(try string(key))
        note(key, "path")
        return path
    }

    /// As ``path(_:)``; if the key is missing, the default, which is resolved in the same way.
    public mutating func path(_ key: String, default standard: String) throws(SettingsError) -> String {
        note(key, default: standard)
        return try optionalPath(key) ?? resolve(standard)
    }

    /// As ``path(_:)``; nil if the key is missing.
    public mutating func optionalPath(_ key: String) throws(SettingsError) -> String? {
        let path = try optionalString(key).map(resolve)
        note(key, "path")
        return path
    }

    /// The address where a socket listens: `tcp://HOST:PORT`, `ipc://PATH` or `inproc://NAME`; nil if the key is
    /// missing. A relative PATH is resolved against the file's folder.
    public mutating func optionalAddress(_ key: String) throws(SettingsError) -> String? {
        let folder = folder
        note(key, "address")
        return try optional(key) { node throws(Complaint) in
            try LinkAddress.check(try node.text(expecting: "an address"), folder: folder)
        }
    }

    // MARK: Choices

    /// `true` or `false`, without quotes.
    public mutating func boolean(_ key: String, default standard: Bool) throws(SettingsError) -> Bool {
        note(key, "`true` or `false`", default: "\(standard)")
        return try optional(key) { node throws(Complaint) in
            let wanted = node.unexpected("true or false")
            guard case .scalar(let text, plain: true) = node.content else { throw wanted }
            guard let value = Bool(text) else { throw wanted }
            return value
        } ?? standard
    }

    /// One of `words`.
    public mutating func choice(
        _ key: String, of words: [String], default standard: String
    ) throws(SettingsError) -> String {
        note(key, "choice", range: words.joined(separator: ", "), default: standard)
        return try optional(key) { node throws(Complaint) in
            let text = try node.text(expecting: "one of \(words.joined(separator: ", "))")
            guard words.contains(text) else {
                let hint = Spelling.suggestion(for: text, among: words)
                throw Complaint("expected one of \(words.joined(separator: ", ")), found \(text)", hint: hint)
            }
            return text
        } ?? standard
    }

    /// One of an enum's raw values.
    public mutating func choice<Choice>(
        _ key: String, default standard: Choice
    ) throws(SettingsError) -> Choice where Choice: RawRepresentable<String> & CaseIterable {
        let word = try choice(key, of: Choice.allCases.map(\.rawValue), default: standard.rawValue)
        return Choice(rawValue: word) ?? standard
    }

    // MARK: Numbers

    /// A whole number without quotes. A number outside of the range is an error that names the range.
    public mutating func integer(
        _ key: String, default standard: Int, in range: ClosedRange<Int>
    ) throws(SettingsError) -> Int {
        note(key, "whole number", range: "\(range.lowerBound) to \(range.upperBound)", default: "\(standard)")
        return try optional(key) { node throws(Complaint) in
            guard case .scalar(let text, plain: true) = node.content, let value = Int(text) else {
                throw node.unexpected("a whole number")
            }
            return try value.checked(in: range) { "\($0)" }
        } ?? standard
    }

    /// A duration with its unit: `50ms`, `2s`, `1m`, `1h`.
    public mutating func duration(
        _ key: String, default standard: Duration, in range: ClosedRange<Duration>
    ) throws(SettingsError) -> Duration {
        note(key, default: standard.settingsText)
        return try optionalDuration(key, in: range) ?? standard
    }

    /// As ``duration(_:default:in:)``; nil if the key is missing.
    public mutating func optionalDuration(
        _ key: String, in range: ClosedRange<Duration>
    ) throws(SettingsError) -> Duration? {
        note(key, "duration", range: "\(range.lowerBound.settingsText) to \(range.upperBound.settingsText)")
        return try optional(key) { node throws(Complaint) in
            let microseconds = try Quantities.microseconds.amount(
                of: try node.text(expecting: "a duration"), isLong: range.lowerBound >= .seconds(1))
            return try Duration.microseconds(microseconds).checked(in: range, \.settingsText)
        }
    }

    /// A number of bytes: `4096`, `64 KiB`, `1 MB`.
    public mutating func bytes(
        _ key: String, default standard: Int, in range: ClosedRange<Int>
    ) throws(SettingsError) -> Int {
        note(key, default: Quantities.bytes.text(Int64(standard)))
        return try optionalBytes(key, in: range) ?? standard
    }

    /// As ``bytes(_:default:in:)``; nil if the key is missing.
    public mutating func optionalBytes(_ key: String, in range: ClosedRange<Int>) throws(SettingsError) -> Int? {
        let text = { (bytes: Int) in Quantities.bytes.text(Int64(bytes)) }
        note(key, "size", range: "\(text(range.lowerBound)) to \(text(range.upperBound))")
        return try optional(key) { node throws(Complaint) in
            let amount = try Quantities.bytes.amount(of: try node.text(expecting: "a size"))
            return try Int(amount).checked(in: range) { Quantities.bytes.text(Int64($0)) }
        }
    }
}

extension Comparable {
    func checked(in range: ClosedRange<Self>, _ text: (Self) -> String) throws(Complaint) -> Self {
        guard !range.contains(self) else { return self }
        throw Complaint(
            "must be between \(text(range.lowerBound)) and \(text(range.upperBound)), is \(text(self))")
    }
}

extension SettingsReader {
    /// The path, resolved against ``folder`` if it is relative.
    func resolve(_ path: String) -> String {
        FilePathText.join(folder, path)
    }
}
