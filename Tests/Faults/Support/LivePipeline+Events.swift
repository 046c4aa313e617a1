import EventLog
import Glibc
import PipelineRuntime
import TestSupport

extension LivePipeline {
    /// Sends commands as a new producer.
    ///
    /// - Parameter name: The name of the producer. Nil for a name made from the number of commands. The
    ///   calls for one pipeline need different names, because the door treats calls with the same name as one producer.
    func send(_ commands: [String], from name: String? = nil) throws {
        let producer = try producer(name ?? "answers-\(commands.count)")
        _ = try producer.greet(timeout: .seconds(20))
        try producer.send(Array((commands.joined(separator: "\n") + "\n").utf8), count: commands.count)
        while !producer.isDone { try producer.pump(wait: .milliseconds(100)) }
    }

    /// Waits until deliver's log has `count` events of a type.
    func waitFor(_ type: String, count: Int = 1) throws {
        up.read(wait: .zero)
        var (reader, found): (EventLogReader?, Int) = (nil, 0)
        do {
            try up.wait("\(count) of \(type)") {
                if reader == nil { reader = try readerOfOutcomes() }
                while let batch = try reader?.next() {
                    found += Self.lines(of: batch).count { $0.hasPrefix("{\"type\":\"\(type)\"") }
                }
                return found >= count
            }
        } catch { throw try FaultError("\(error)\n\(outcomes().joined(separator: "\n"))") }
    }

    func outcomes() throws -> [String] {
        let reader = try readerOfOutcomes()
        var lines: [String] = []
        while let batch = try reader?.next() { lines += Self.lines(of: batch) }
        return lines
    }

    private static func lines(of batch: EventLogReader.Batch) -> [String] {
        String(decoding: batch.body, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// A reader at the beginning of deliver's log; nil if the log does not exist yet.
    private func readerOfOutcomes() throws -> EventLogReader? {
        let directory = data + "/logs/outcomes"
        return try EventLogs.isLog(directory: directory)
            ? EventLogReader(directory: directory, from: .beginning) : nil
    }

    /// The `apns-id` of each push whose outcome says that it may have arrived twice.
    func possibleRepeats() throws -> Set<String> {
        let ends = try outcomes().filter { $0.hasPrefix(#"{"type":"outcome""#) }
        return Set(ends.filter { $0.contains(#""repeat_possible":true"#) }.compactMap(\.apnsID))
    }

    /// Writes the pipeline file again with other settings of coalesce or another transport.
    func edit(coalesce: String = "window: 0s", transport: String) throws {
        try edit(LivePipeline.yaml(coalesce: coalesce, transport: transport))
    }

    func edit(_ text: String) throws { try folder.write(text, to: "pipeline.yaml") }

    /// Starts a pipeline with a wrong key. Returns when deliver has stopped the app and twenty pushes wait.
    static func start(withWrongKey key: String, at apns: RunningAPNs) throws -> LivePipeline {
        let pipeline = try LivePipeline(transport: apns.transport(key: key))
        try pipeline.send(Notes.commands(20))
        try pipeline.waitFor("app.stopped")
        try pipeline.waitFor("attempt", count: 20)
        guard apns.accepted.isEmpty else { throw FaultError("the local APNs accepted a wrong key") }
        return pipeline
    }

    /// Waits until `count` lines of `belfry up` begin with a text.
    func waitForLine(_ start: String, count: Int = 1) throws {
        try up.wait(start) { up.lines.count { $0.hasPrefix(start) } >= count }
    }

    /// Ends `belfry up`.
    ///
    /// - Returns: The unexpected exit status and all lines of `belfry up`; empty if the exit status is as expected.
    func stop(_ signal: Int32 = SIGTERM) throws -> [String] {
        up.signal(signal)
        let status = try up.waitUntilExit()
        return status == (signal == SIGKILL ? 128 + SIGKILL : 0) ? [] : ["belfry up ended with \(status)"] + up.lines
    }
}

extension String {
    /// The `apns-id` in a push or in an event about a push.
    var apnsID: String? { range(of: #""apns-id":""#).map { String(self[$0.upperBound...].prefix(36)) } }
}
