import Events

/// A stage in a pipeline file.
package struct PipelineStage: Sendable {
    /// Letters a-z, digits and hyphens, and a dot before the number of a lane; unique in its file.
    package internal(set) var name: String
    /// The stage's name in the file. ``name`` has the number of the lane besides.
    package let nameInFile: String
    /// The lane that the stage belongs to; nil for a stage before the lanes, or if the pipeline has no lanes.
    package internal(set) var lane: Lane?
    /// The kind of the stage: the value of `stage:` or, without `stage:`, the stage's name. A program's kind need not
    /// be registered.
    package let kind: String
    /// The upstream stage; nil for the source.
    package internal(set) var from: String?
    /// The address to which the stage's consumers connect.
    package internal(set) var bind: String
    /// Which of Belfry's logs the registered stage of this ``kind`` writes; nil if that stage writes another log, or
    /// the kind is not registered. A program may have a registered kind and still write other events.
    package let writes: LogKind?
    /// The name of the stage's log, and of the log's folder.
    package internal(set) var logName: String
    /// The program of the stage and its arguments; empty if the stage is not a program.
    package let command: [String]
    /// The folder in which the program starts; nil for the folder in which the host runs.
    package let directory: String?
    /// The keys of the stage's links; nil if the links are not encrypted.
    package internal(set) var curve: CurveSettings?
    /// Whether other machines may reach the stage's link and door without a key.
    package let isOpen: Bool
    /// The stage's own settings, to be decoded with ``SettingsReader/decode(_:)``. The reader also holds the common
    /// settings, and does not report their keys as unknown.
    package internal(set) var settings: SettingsReader
    /// The address in the file. ``bind`` is that of this process's host, if the file has hosts.
    package internal(set) var bindInFile: String

    /// The keys of the settings that all stages have.
    package static let commonKeys: Set<String> = [
        "stage", "from", "bind", "log", "command", "directory", "curve", "open",
    ]
}

/// The settings that all stages have, before the pipeline adds their defaults.
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
            throw settings.fail("command", "is empty")
        }
        if directory != nil, !settings.contains("command") {
            throw settings.fail("directory", "is set, but the stage has no `command`")
        }
        try checkReach(of: bind, "bind", settings)
        if from == nil { try checkReach(of: CommonSettings.door(settings), "door", settings) }
        if from != nil, let curve, !curve.producers.isEmpty {
            throw settings.fail(
                "curve", "names producers, but this stage has no door: only the source has one",
                hint: "name `readers` here")
        }
    }

    /// The door's address; nil if it is missing or invalid. The stage itself reports an invalid address.
    private static func door(_ settings: SettingsReader) -> String? {
        var settings = settings
        do throws(SettingsError) { return try settings.optionalAddress("door") } catch { return nil }
    }

    /// - Throws: ``SettingsError`` if other machines can reach the address without a key, and the stage is not open.
    private func checkReach(
        of address: String?, _ key: String, _ settings: SettingsReader
    ) throws(SettingsError) {
        guard let address, curve == nil, !isOpen, !LinkAddress.isLocal(address) else { return }
        throw settings.fail(
            key,
            "other machines can reach \(address) without a key and "
                + (key == "door" ? "send changes" : "read every record, user and token"),
            hint: "give the stage `curve:` keys; or say `open: true`, if the network lets only trusted programs in")
    }
}

extension SettingsReader {
    mutating func name(_ key: String) throws(SettingsError) -> String {
        note(key, "name")
        return try required(key, placeholder: "") { node throws(Complaint) in
            try Self.checkName(try node.text(expecting: "a name"))
        }
    }

    mutating func optionalName(_ key: String) throws(SettingsError) -> String? {
        note(key, "name")
        return try optional(key) { node throws(Complaint) in try Self.checkName(try node.text(expecting: "a name")) }
    }

    static let nameBytesMax = 64

    /// Checks a name strictly, because names become parts of file names, addresses and metrics.
    @discardableResult
    static func checkName(_ text: String) throws(Complaint) -> String {
        let valid = text.unicodeScalars.allSatisfy { ("a"..."z").contains($0) || ("0"..."9").contains($0) || $0 == "-" }
        guard valid, (1...nameBytesMax).contains(text.utf8.count), !text.hasPrefix("-") else {
            throw Complaint(
                "\"\(text)\" is not a valid name",
                hint: "names have up to \(nameBytesMax) letters a-z, digits and hyphens, and do not begin with a "
                    + "hyphen")
        }
        return text
    }
}
