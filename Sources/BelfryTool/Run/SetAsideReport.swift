import EventLog
import Events
import Inspect
import JSON
import PipelineKit
import PipelineRuntime

/// Reports the events that the stages of a run set aside as dead letters.
struct SetAsideReport {
    private(set) var count = 0
    /// One line for each of the first ``linesMax`` events.
    private var lines: [String] = []

    private static let linesMax = 20
    private static let eventCharactersMax = 200

    private let logs: TraceLogs
    /// The stages that are programs, by the names of their logs.
    private let programs: [String: String]
    private let acceptedLines: AcceptedLines

    /// - Parameter folder: The folder of the run's logs.
    init(of file: PipelineFile, logs folder: String, acceptedLines: AcceptedLines) throws {
        logs = TraceLogs(TracedLog.all(of: file, in: folder), usesIndexFiles: false)
        let stages = file.stages.filter { !$0.command.isEmpty }
        programs = Dictionary(stages.map { ($0.logName, $0.name) }) { first, _ in first }
        self.acceptedLines = acceptedLines
        for stage in file.stagesInOrder {
            let directory = "\(folder)/\(stage.logName)\(LogPlace.deadLetters)"
            guard LogPlace.isLog(directory) else { continue }
            try LogScan().events(in: directory, from: 1, through: .max, naming: []) { event in
                try add(event.json)
                return true
            }
        }
    }

    private mutating func add(_ letter: JSONValue) throws {
        count += 1
        guard lines.count < Self.linesMax else { return }
        func text(_ key: StaticString) -> String { letter[key]?.string?.printable ?? "" }
        let (path, shownEvent) = (text(.path), text(.event))
        let event = EventPlace(log: letter.text(.log) ?? "", sequence: letter.natural(.sequence) ?? 0)
        // A program may get several events at once. A letter about an invalid output names only the last of these
        // events. The output may come from an earlier one, so the report says "input up to".
        let isOutput = text(.code) == ProgramOutputs.invalidCode
        let place = try inputLine(thatLedTo: event).map { (isOutput ? "input up to " : "") + "\($0): " } ?? ""
        let author = programs[event.log].map { " (from the program of \($0))" } ?? ""
        let what = isOutput ? "" : " set aside event \(event.sequence) of \(event.log.printable)\(author)"
        let reason = (path.isEmpty ? "" : path + ": ") + text(.reason)
        let limit = Self.eventCharactersMax
        let shown = shownEvent.count > limit ? shownEvent.prefix(limit) + "…" : shownEvent
        lines.append("\(place)\(text(.stage))\(what): \(reason) (\(text(.code))): \(shown)")
    }

    /// Lines for standard error; empty if no event was set aside.
    var report: [String] { count > lines.count ? lines + ["… and \((count - lines.count).grouped) more"] : lines }

    /// The newest input line that led to an event, as `FILE:LINE`; nil if the line is not known.
    private func inputLine(thatLedTo place: EventPlace) throws -> String? {
        guard let changes = logs.changes, let event = try logs.event(at: place),
            try EventLogs.summary(directory: changes.directory).lastSequence == acceptedLines.count
        else { return nil }
        let origins = try Causality(logs).origins(of: event).events.filter { $0.log == changes.name }
        return origins.last.flatMap { acceptedLines.place(ofEvent: $0.sequence) }
    }
}
