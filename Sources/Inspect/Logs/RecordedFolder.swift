import BuiltIns
import EventLog
import Events
import JSON
import PipelineKit
import PipelineRuntime
import StageTool

/// Reconstructs a pipeline from a folder of logs.
struct RecordedFolder {
    private let folder: String

    init(_ folder: String) { self.folder = folder }

    /// The pipeline of the stages that wrote the logs. Each built-in stage is named by its kind and has its newest
    /// recorded settings.
    ///
    /// - Parameter isCompleted: True adds the built-in stages that have no log yet. It also accepts logs of programs in
    ///   other languages, whose settings are not recorded: such a stage is named by its log.
    /// - Throws: ``ToolFailure`` with 66 if the folder contains no logs, if the settings of a log are not recorded, if
    ///   a stage's kind is unknown, or if two stages have one kind; ``EventLogError`` if a file beside a log is
    ///   damaged; ``PipelineFileError`` if the stages do not make a valid pipeline.
    func pipeline(isCompleted: Bool = false) throws -> PipelineFile {
        let all = try LogPlace.logs(in: folder).filter { !$0.hasSuffix(LogPlace.deadLetters) }
        let lanes = try all.compactMap { try lane(of: $0)?.count }.first ?? 1
        let logs = all.filter { lanes == 1 || !LaneName.isOther(LogPlace.name(ofLogAt: $0)) }
        guard !logs.isEmpty else { throw ToolFailure(.noInput, try LogPlace.noLogsMessage(in: folder)) }
        let plugins = isCompleted ? try logs.filter(isPlugin) : []
        let builtIns = logs.filter { !plugins.contains($0) }
        try checkKinds(of: builtIns)
        var stages = try logs.map { log in
            try plugins.contains(log) ? plugin(log) : stage(log)
        }
        if isCompleted { stages += try laterStages(builtIns) }
        return try PipelineFile.parse(
            RecordedFolder.text(data: folder, stages, lanes: lanes), file: folder, folder: folder, registry: .builtIns,
            check: check)
    }

    /// Plugins are not checked, since no log names their programs.
    private func check(_ stage: PipelineStage) throws(PipelineFileError) {
        if stage.command.isEmpty { try StageCheck(registry: .builtIns)(stage) }
    }

    /// The built-in stages without a log. Empty unless the logs are exactly the logs of the first built-in stages.
    private func laterStages(_ logs: [String]) throws -> [String] {
        let first = LogKind.allCases.prefix(logs.count).map(\.stage)
        guard try Set(logs.map { try entry(of: $0).kind }) == Set(first) else { return [] }
        return RecordedFolder.stages(LogKind.allCases.dropFirst(first.count), after: first.last)
    }

    /// The built-in stages, for logs without recorded settings.
    static func standardPipeline() throws -> PipelineFile {
        try PipelineFile.parse(
            text(data: "/", stages(LogKind.allCases[...], after: nil)), file: "the folder's logs", registry: .builtIns)
    }

    /// - Parameter stages: Each stage as a member of the object `stages`.
    private static func text(data: String, _ stages: [String], lanes: Int = 1) -> String {
        ByteBuffer.object {
            $0.append("pipeline", "recorded")
            $0.append("data", data)
            if lanes > 1 { $0.append("lanes", lanes) }
            $0.append("stages", raw: "{" + stages.joined(separator: ",") + "}")
        }.text
    }

    private static func member(_ name: String, _ write: (inout ByteBuffer) throws -> Void) rethrows -> String {
        var text = ByteBuffer()
        text.appendJSON(name)
        text.append(":")
        try text.object(write)
        return text.text
    }

    /// Built-in stages, each reading from the one before.
    private static func stages(_ logs: ArraySlice<LogKind>, after previous: String?) -> [String] {
        zip(logs, [previous] + logs.map(\.stage)).map { log, before in
            member(log.stage) {
                $0.append("from", before)
                if log == .outcomes { $0.append("transports", raw: #"{"none":{"use":"console"}}"#) }
            }
        }
    }

    /// Rejects stages of unknown kinds. Also rejects two stages of one kind, because each stage is named by its kind.
    private func checkKinds(of logs: [String]) throws {
        let kinds = try Dictionary(grouping: logs) { try entry(of: $0).kind }
        for (kind, logs) in kinds.sorted(by: { $0.key < $1.key }) {
            guard logs.count > 1 || Registry.builtIns.stages[kind] == nil else { continue }
            let names = logs.map(LogPlace.name).joined(separator: ", ")
            let cause =
                Registry.builtIns.stages[kind] == nil
                ? "this program has no stage kind \(kind)"
                : "written by \(logs.count.of("stage")) of kind \(kind); only the pipeline file has the names of these "
                    + "stages"
            throw ToolFailure(
                .noInput, "\(names) in \(folder): \(cause): name the pipeline file, and the logs with --logs")
        }
    }

    private func stage(_ log: String) throws -> String {
        let entry = try entry(of: log)
        return try RecordedFolder.member(entry.kind) {
            try writeLogAndUpstream(of: log, to: &$0)
            try RecordedSettings.write(settings(of: entry, in: log), to: &$0)
        }
    }

    private func plugin(_ log: String) throws -> String {
        try RecordedFolder.member(LogPlace.name(ofLogAt: log)) {
            try writeLogAndUpstream(of: log, to: &$0)
            $0.append("command", ["unknown"])
        }
    }

    private func writeLogAndUpstream(of log: String, to text: inout ByteBuffer) throws {
        text.append("log", LaneName.inFile(LogPlace.name(ofLogAt: log)))
        guard let note = try UpstreamNote.read(directory: log) else { return }
        let upstream = folder + "/" + note.log
        text.append("from", try isPlugin(upstream) ? note.log : entry(of: upstream).kind)
    }

    /// The lane that a stage's recorded settings name.
    private func lane(of log: String) throws -> Lane? {
        let history = try SettingsHistory(logDirectory: log)
        var settings = history.entries.last.flatMap(history.reader)
        return try settings?.optionalString(PipelineStage.laneKey).flatMap { Lane($0) }
    }

    /// Whether a program in another language seems to have written the log.
    private func isPlugin(_ log: String) throws -> Bool {
        guard !RecordedLogs.standardNames.contains(LaneName.inFile(LogPlace.name(ofLogAt: log))) else { return false }
        return try SettingsHistory(logDirectory: log).entries.isEmpty && UpstreamNote.read(directory: log) != nil
    }

    /// The recorded settings. Where an earlier version used a default without recording it, this default is added.
    private func settings(of entry: SettingsHistory.Entry, in log: String) throws -> String {
        let reader = try SettingsHistory(logDirectory: log).reader(of: entry)
        return reader?.addingDefaults(Registry.builtIns.changedDefaults(ofKind: entry.kind), as: \.before)
            .record(hasSeals: false)
            ?? entry.settings
    }

    private func entry(of log: String) throws -> SettingsHistory.Entry {
        let history = try SettingsHistory(logDirectory: log)
        if let last = history.entries.last { return last }
        throw ToolFailure(
            .noInput,
            "\(history.path) is missing, so the settings of \(log) are unknown: name the pipeline file, and the logs with "
                + "--logs")
    }
}

/// The name of a log in a pipeline with lanes: the name in the file, and the number of the lane after a dot.
private enum LaneName {
    static func inFile(_ name: String) -> String {
        number(in: name).map { String(name.dropLast($0.count + 1)) } ?? name
    }

    /// Whether the log belongs to a lane other than the first. All lanes have the same stages.
    static func isOther(_ name: String) -> Bool { number(in: name).flatMap { Int($0) }.map { $0 > 0 } ?? false }

    private static func number(in name: String) -> Substring? {
        guard let dot = name.lastIndex(of: ".") else { return nil }
        let digits = name[name.index(after: dot)...]
        return digits.count >= 2 && digits.allSatisfy(\.isNumber) ? digits : nil
    }
}

/// Recorded settings of a stage, in which numbers and booleans are strings.
private enum RecordedSettings {
    /// Appends the settings in the form of a pipeline file.
    static func write(_ record: String, to text: inout ByteBuffer) throws {
        var parser = JSONParser()
        try Array(record.utf8).withUnsafeBytes { bytes in
            for (key, value) in try parser.parse(bytes).members where !key.equals(PipelineStage.laneKey) {
                text.append(",")
                write(key, value, to: &text)
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
            let string = value.string
            if let string, isNumberOrBoolean(string) { text.append(raw: string) } else { text.append(value.raw) }
        }
    }

    private static func isNumberOrBoolean(_ text: String) -> Bool {
        text == "true" || text == "false" || !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
