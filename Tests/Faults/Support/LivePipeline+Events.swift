import EventLog
import Glibc
import PipelineRuntime
import TestSupport

extension LivePipeline {
    /// - Parameter name: Whom they come from: each sends once.
    func send(_ commands: [String], from name: String? = nil) throws {
        let producer = try producer(name ?? "answers-\(commands.count)")
        _ = try producer.greet(timeout: .seconds(20))
        try producer.send(Array((commands.joined(separator: "\n") + "\n").utf8), count: commands.count)
        while !producer.isDone { try producer.pump(wait: .milliseconds(100)) }
    }

    /// Waits for events of a type in deliver's log.
    func waitFor(_ type: String, _ count: Int = 1) throws {
        up.read(wait: .zero)
        do {
            try up.wait("\(count) of \(type)") {
                try outcomes().count { $0.hasPrefix("{\"type\":\"\(type)\"") } >= count
            }
        } catch { throw try FaultError("\(error)\n\(outcomes().joined(separator: "\n"))") }
    }

    func outcomes() throws -> [String] {
        let directory = data + "/logs/outcomes"
        guard try EventLogs.isLog(directory: directory) else { return [] }
        let reader = try EventLogReader(directory: directory, from: .beginning)
        var lines: [String] = []
        while let batch = try reader.next() {
            lines += String(decoding: batch.body, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        return lines
    }

    /// Writes the file anew, with other transports.
    func edit(transport: String) throws {
        try folder.write(LivePipeline.yaml("match", "", "0s", transport), to: "pipeline.yaml")
    }

    /// A pipeline with a key that is not this APNs': its app is stopped, and twenty pushes wait.
    static func stopped(at apns: RunningAPNs, key: String) throws -> LivePipeline {
        let pipeline = try LivePipeline(transport: apns.transport(key: key))
        try pipeline.send(Notes.commands(20))
        try pipeline.waitFor("app.stopped")
        try pipeline.waitFor("attempt", 20)
        guard apns.accepted.isEmpty else { throw FaultError("a key is taken that is not this APNs'") }
        return pipeline
    }

    /// Waits until somebody said a line that begins so, a number of times in all.
    func waitForLine(_ start: String, _ count: Int = 1) throws {
        try up.wait(start) { up.lines.count { $0.hasPrefix(start) } >= count }
    }

    /// - Returns: What went wrong.
    func stop(_ signal: Int32 = SIGTERM) throws -> [String] {
        up.signal(signal)
        let status = try up.end()
        return status == (signal == SIGKILL ? 128 + SIGKILL : 0) ? [] : ["belfry up ends with \(status)"] + up.lines
    }
}
