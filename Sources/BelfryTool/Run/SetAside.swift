import EventLog
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

    /// - Parameter folder: The one that holds the run's logs.
    init(by stages: [PipelineStage], in folder: String) throws {
        var parser = JSONParser(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax, depthMax: 512))
        for stage in stages {
            let directory = "\(folder)/\(stage.logName)\(LetterReader.suffix)"
            guard LogPlace.isLog(directory) else { continue }
            let reader = try EventLogReader(directory: directory, from: .beginning)
            while let batch = try reader.next() {
                for line in Lines(batch.body) { add(try parser.parse(line)) }
            }
        }
    }

    private mutating func add(_ letter: JSONValue) {
        count += 1
        guard lines.count < Self.linesMax else { return }
        func text(_ key: StaticString) -> String { letter[key]?.string?.printable ?? "" }
        let (path, event) = (text("path"), text("event"))
        let place = "\(text("stage")) set aside event \(letter["sequence"]?.int64 ?? 0) of \(text("log"))"
        let reason = (path.isEmpty ? "" : path + ": ") + text("reason")
        let shown = event.count > Self.eventMax ? event.prefix(Self.eventMax) + "…" : event
        lines.append("\(place): \(reason) (\(text("code"))): \(shown)")
    }

    /// For standard error; empty where nothing was set aside.
    var report: [String] { count > lines.count ? lines + ["… and \((count - lines.count).grouped) more"] : lines }
}
