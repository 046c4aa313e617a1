import EventLog
import Events
import Inspect
import JSON
import PipelineKit
import PipelineRuntime

/// What the stages of a run could not use, and put in their dead-letter logs.
struct SetAside {
    private(set) var count = 0
    /// One line for each of the first.
    private(set) var lines: [String] = []

    private static let linesMax = 20
    private static let eventMax = 200

    private let origins: Origins

    /// - Parameters:
    ///   - folder: The one that holds the run's logs.
    ///   - taken: The lines that the source's events came from.
    init(by file: PipelineFile, in folder: String, _ taken: TakenLines) throws {
        origins = Origins(logs: TraceLogs(TracedLog.all(of: file, in: folder), usesIndexFiles: false), taken: taken)
        var parser = JSONParser(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax, depthMax: 512))
        for stage in file.stagesInOrder {
            let directory = "\(folder)/\(stage.logName)\(LogPlace.deadLetters)"
            guard LogPlace.isLog(directory) else { continue }
            let reader = try EventLogReader(directory: directory, from: .beginning)
            while let batch = try reader.next() {
                for line in Lines(batch.body) { try add(try parser.parse(line)) }
            }
        }
    }

    private mutating func add(_ letter: JSONValue) throws {
        count += 1
        guard lines.count < Self.linesMax else { return }
        func text(_ key: StaticString) -> String { letter[key]?.string?.printable ?? "" }
        let (path, shownEvent) = (text(.path), text(.event))
        let event = EventPlace(log: letter.text(.log) ?? "", sequence: letter.natural(.sequence) ?? 0)
        let place = try origins.line(behind: event).map { "\($0): " } ?? ""
        let reason = (path.isEmpty ? "" : path + ": ") + text(.reason)
        let shown = shownEvent.count > Self.eventMax ? shownEvent.prefix(Self.eventMax) + "…" : shownEvent
        lines.append(
            "\(place)\(text(.stage)) set aside event \(event.sequence) of \(event.log.printable): \(reason) "
                + "(\(text(.code))): \(shown)")
    }

    /// For standard error; empty where nothing was set aside.
    var report: [String] { count > lines.count ? lines + ["… and \((count - lines.count).grouped) more"] : lines }
}

/// The lines of a run's input that its events go back to.
private struct Origins {
    let logs: TraceLogs
    let taken: TakenLines

    /// - Returns: The newest one as `FILE:LINE`; nil where it is not known.
    func line(behind place: EventPlace) throws -> String? {
        guard let changes = logs.changes, let event = try logs.event(at: place),
            try EventLogs.summary(directory: changes.directory).lastSequence == taken.count
        else { return nil }
        let origins = try Causality(logs).origins(of: event).events.filter { $0.log == changes.name }
        return origins.last.flatMap { taken.place(ofEvent: $0.sequence) }
    }
}
