import BuiltIns
import EventLog
import Events
import JSON
import PipelineKit
import PipelineRuntime
import StageTool

/// Makes a pipeline of what logs say about the stages that wrote them.
struct RecordedFolder {
    private let folder: String

    /// - Parameter folder: A folder of logs.
    init(_ folder: String) { self.folder = folder }

    /// The stages by their kinds, with the settings that they had last.
    ///
    /// - Parameter isCompleted: Whether the built-in stages that come after those with a log are there too, and those
    ///   whose settings nobody keeps: programs in another language, known by the log that they read.
    /// - Throws: ``ToolFailure`` with 66 where the logs do not say enough.
    func pipeline(isCompleted: Bool = false) throws -> PipelineFile {
        let logs = try LogPlace.logs(in: folder).filter { !$0.hasSuffix(LogPlace.deadLetters) }
        guard !logs.isEmpty else { throw ToolFailure(.noInput, try LogPlace.nothing(in: folder)) }
        let plugins = isCompleted ? try logs.filter(isPlugin) : []
        let builtIns = logs.filter { !plugins.contains($0) }
        try checkKinds(of: builtIns)
        var text = ByteBuffer()
        text.append("{\"pipeline\":\"recorded\",\"data\":")
        text.appendJSON(folder)
        text.append(",\"stages\":{")
        for (index, log) in logs.enumerated() {
            if index > 0 { text.append(",") }
            if plugins.contains(log) { try writePlugin(log, to: &text) } else { try write(log, to: &text) }
        }
        if isCompleted { try writeRest(after: builtIns, to: &text) }
        text.append("}}")
        return try PipelineFile.parse(text.text, file: folder, folder: folder, registry: .builtIns, check: check)
    }

    /// No log tells what a plugin's program is called.
    private func check(_ stage: PipelineStage) throws(PipelineFileError) {
        if stage.command.isEmpty { try StageCheck(registry: .builtIns)(stage) }
    }

    /// Nothing where the logs are not those of the first built-in stages.
    private func writeRest(after logs: [String], to text: inout ByteBuffer) throws {
        let first = LogKind.allCases.prefix(logs.count).map(\.stage)
        guard try Set(logs.map { try entry(of: $0).kind }) == Set(first) else { return }
        RecordedFolder.write(LogKind.allCases.dropFirst(first.count), after: first.last, to: &text)
    }

    /// The built-in stages alone, for logs that do not tell of theirs.
    static func standardPipeline() throws -> PipelineFile {
        var text = ByteBuffer()
        text.append("{\"pipeline\":\"recorded\",\"data\":\"/\",\"stages\":{")
        text.appendJSON(LogKind.changes.stage)
        text.append(":{}")
        write(LogKind.allCases.dropFirst(), after: LogKind.changes.stage, to: &text)
        text.append("}}")
        return try PipelineFile.parse(text.text, file: "the folder's logs", registry: .builtIns)
    }

    /// The stages that write some logs, each behind the one before it.
    private static func write(_ logs: ArraySlice<LogKind>, after first: String?, to text: inout ByteBuffer) {
        var before = first ?? ""
        for log in logs {
            text.append(",")
            text.appendJSON(log.stage)
            text.append(":{\"from\":")
            text.appendJSON(before)
            if log == .outcomes { text.append(",\"transports\":{\"none\":{\"use\":\"console\"}}") }
            text.append("}")
            before = log.stage
        }
    }

    /// Stages are called by their kinds, and what a program of its own did stands in the pipeline file alone.
    private func checkKinds(of logs: [String]) throws {
        for (kind, logs) in try Dictionary(grouping: logs, by: { try entry(of: $0).kind }).sorted(by: {
            $0.key < $1.key
        }) {
            guard logs.count > 1 || Registry.builtIns.stages[kind] == nil else { continue }
            let names = logs.map(LogPlace.name).joined(separator: ", ")
            throw ToolFailure(
                .noInput,
                "\(names) in \(folder): made by \(logs.count.of("stage")) of kind \(kind), whose place only the pipeline file tells: "
                    + "name it, and the logs with --logs")
        }
    }

    private func write(_ log: String, to text: inout ByteBuffer) throws {
        let entry = try entry(of: log)
        try writePlace(of: log, as: entry.kind, to: &text)
        try RecordedSettings(settings(of: entry, in: log)).write(to: &text)
        text.append("}")
    }

    private func writePlugin(_ log: String, to text: inout ByteBuffer) throws {
        try writePlace(of: log, as: LogPlace.name(ofLogAt: log), to: &text)
        text.append(",\"command\":[\"unknown\"]}")
    }

    private func writePlace(of log: String, as name: String, to text: inout ByteBuffer) throws {
        text.appendJSON(name)
        text.append(":{\"log\":")
        text.appendJSON(LogPlace.name(ofLogAt: log))
        guard let note = try UpstreamNote.read(directory: log) else { return }
        let upstream = folder + "/" + note.log
        text.append("from", try isPlugin(upstream) ? note.log : entry(of: upstream).kind)
    }

    /// Whether a program in another language seems to have written the log.
    private func isPlugin(_ log: String) throws -> Bool {
        guard !RecordedLogs.standardNames.contains(LogPlace.name(ofLogAt: log)) else { return false }
        return try SettingsHistory(logDirectory: log).entries.isEmpty && UpstreamNote.read(directory: log) != nil
    }

    /// With what an earlier build did not put on record.
    private func settings(of entry: SettingsHistory.Entry, in log: String) throws -> String {
        let reader = try SettingsHistory(logDirectory: log).reader(of: entry)
        return reader?.spelt(Registry.builtIns.changedDefaults(ofKind: entry.kind), as: \.before)
            .record(hasSeals: false)
            ?? entry.settings
    }

    private func entry(of log: String) throws -> SettingsHistory.Entry {
        let history = try SettingsHistory(logDirectory: log)
        if let last = history.entries.last { return last }
        throw ToolFailure(
            .noInput,
            "\(history.path) is not there, so that nothing tells how \(log) was made: name the pipeline file, and the "
                + "logs with --logs")
    }
}

/// A stage's settings as they were recorded, in which numbers and truth values stand in quotes as everything else does.
private struct RecordedSettings {
    private let record: String

    init(_ record: String) { self.record = record }

    /// Appends its members as a pipeline file has them.
    func write(to text: inout ByteBuffer) throws {
        var parser = JSONParser()
        try Array(record.utf8).withUnsafeBytes { bytes in
            for (key, value) in try parser.parse(bytes).members {
                text.append(",")
                RecordedSettings.write(key, value, to: &text)
            }
        }
    }

    private static func write(_ key: JSONValue, _ value: JSONValue, to text: inout ByteBuffer) {
        text.append(key.raw)
        text.append(": ")
        write(value, to: &text)
    }

    private static func write(_ value: JSONValue, to text: inout ByteBuffer) {
        switch value.kind {
        case .object:
            text.append("{")
            for (index, (key, value)) in value.members.enumerated() {
                if index > 0 { text.append(",") }
                write(key, value, to: &text)
            }
            text.append("}")
        case .array:
            text.list(value.elements) { write($1, to: &$0) }
        default:
            if let plain = value.string, isPlain(plain) { text.append(raw: plain) } else { text.append(value.raw) }
        }
    }

    private static func isPlain(_ text: String) -> Bool {
        text == "true" || text == "false" || !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
