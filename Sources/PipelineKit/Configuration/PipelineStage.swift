import Events

/// One entry of a pipeline file's `stages`.
package struct PipelineStage: Sendable {
    /// Letters a-z, digits and hyphens; unique in its file.
    package let name: String
    /// What the stage is registered under; its name unless `stage:` says otherwise.
    package let kind: String
    /// The upstream stage; nil for the source.
    package let from: String?
    /// The address its consumers connect to.
    package internal(set) var bind: String
    /// Which of Belfry's logs it writes; nil where it writes none of them.
    package let writes: LogKind?
    /// The name of its log, and of the log's folder.
    package let logName: String
    /// The program that runs this stage in place of a built-in one, and its arguments; empty for a built-in.
    package let command: [String]
    /// Where `command` is started; nil: where the host was.
    package let directory: String?
    /// Nil where its links are not encrypted.
    package internal(set) var curve: CurveSettings?
    /// Whether others than this machine may reach its link and its door without a key.
    package let isOpen: Bool
    /// Everything else, for ``SettingsReader/decode(_:)`` with the stage's own settings. Knows the keys above.
    package internal(set) var settings: SettingsReader

    /// The keys that are no stage's own.
    package static let commonKeys: Set<String> = [
        "stage", "from", "bind", "log", "command", "directory", "curve", "open",
    ]
}

/// The keys that every stage has, before the pipeline around it gives them their defaults.
struct CommonSettings: PluginSettings {
    let kind: String?
    let from: String?
    let bind: String?
    let logName: String?
    let command: [String]
    let directory: String?
    let curve: CurveSettings?
    let isOpen: Bool

    init(from settings: inout SettingsReader) throws(SettingsError) {
        kind = try settings.optionalName("stage")
        from = try settings.optionalString("from")
        bind = try settings.optionalAddress("bind")
        logName = try settings.optionalName("log")
        command = try settings.strings("command")
        directory = try settings.optionalPath("directory")
        curve = try settings.mapping("curve", as: CurveSettings.self)
        isOpen = try settings.boolean("open", default: false)
        if settings.contains("command"), command.first?.isEmpty ?? true {
            throw settings.fail("command", "names no program")
        }
        if directory != nil, !settings.contains("command") {
            throw settings.fail("directory", "only a command has a directory")
        }
        try checkReach(of: bind, "bind", settings)
        if from == nil { try checkReach(of: CommonSettings.door(settings), "door", settings) }
        if from != nil, let curve, !curve.producers.isEmpty {
            throw settings.fail("curve", "only the source has a door for producers", hint: "name `readers` here")
        }
    }

    /// Nil also where it is no address: the stage itself says so.
    private static func door(_ settings: SettingsReader) -> String? {
        var settings = settings
        do throws(SettingsError) { return try settings.optionalAddress("door") } catch { return nil }
    }

    /// - Throws: ``SettingsError`` where other machines reach an address, and no key keeps anyone out.
    private func checkReach(
        of address: String?, _ key: String, _ settings: SettingsReader
    ) throws(SettingsError) {
        guard let address, curve == nil, !isOpen, !LinkAddress.isLocal(address) else { return }
        throw settings.fail(
            key,
            "other machines reach \(address), and whoever does may "
                + (key == "door" ? "send changes" : "read every record, user and token"),
            hint: "give the stage `curve:` keys; or say `open: true`, where the network keeps everyone else out")
    }
}

extension SettingsReader {
    mutating func name(_ key: String) throws(SettingsError) -> String {
        note(key, "name")
        return try required(key, placeholder: "") { node throws(Complaint) in
            try Self.checkName(try node.text("a name"))
        }
    }

    mutating func optionalName(_ key: String) throws(SettingsError) -> String? {
        note(key, "name")
        return try optional(key) { node throws(Complaint) in try Self.checkName(try node.text("a name")) }
    }

    static let nameBytesMax = 64

    /// Names become parts of file names, addresses and metrics.
    @discardableResult
    static func checkName(_ text: String) throws(Complaint) -> String {
        let valid = text.unicodeScalars.allSatisfy { ("a"..."z").contains($0) || ("0"..."9").contains($0) || $0 == "-" }
        guard valid, (1...nameBytesMax).contains(text.utf8.count), !text.hasPrefix("-") else {
            throw Complaint(
                "\"\(text)\" is no name", hint: "names have up to \(nameBytesMax) letters a-z, digits and hyphens")
        }
        return text
    }
}
