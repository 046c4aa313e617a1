import EventLog
import PipelineKit
import PipelineRuntime
import TestSupport
import ZeroMQ

/// One host of a pipeline, running in this process on its real sockets.
final class RunningHost: Sendable {
    let host: StageHost
    private let running: Task<Void, any Error>

    init(
        _ stage: String, of file: PipelineFile, _ context: HostContext, clock: HostClock = .wall,
        time: HostTime = HostTime(), calls: FileCalls = FileCalls()
    ) throws {
        guard let stage = file.stage(named: stage) else { throw HostTestError("no stage \(stage)") }
        var surroundings = HostSurroundings(registry: .plain, context: context, clock: clock)
        (surroundings.time, surroundings.calls) = (time, calls)
        // Background work runs without pauses, so that no test waits for it.
        surroundings.calls.backgroundShare = nil
        let host = try StageHost(stage, of: file, in: surroundings)
        self.host = host
        running = Task { try await host.run() }
    }

    var logDirectory: String { host.plan.logsDirectory + "/" + host.plan.logName }

    /// Returns when the host is no longer starting. Its start may have failed.
    func waitUntilUp() async throws {
        try await wait(for: "a start") { $0.phase != .starting }
    }

    /// Returns when the host has at least `count` events in its log.
    func waitUntilWritten(_ count: UInt64) async throws {
        try await wait(for: "\(count) events") { $0.last >= count }
    }

    /// - Throws: The host's error, if the host ends with one before the condition is met; ``WaitFailure``, if the host
    ///   ends without an error, or if the condition is not met within a minute.
    func wait(for what: String, until condition: @escaping @Sendable (HostReport) -> Bool) async throws {
        do { try await host.wait(for: what, until: condition) } catch {
            if host.control.report.phase == .stopped { try await running.value }
            throw error
        }
    }

    func stop() async throws {
        host.control.stop()
        try await running.value
    }

    /// Waits for the host to end by itself.
    ///
    /// - Returns: The host's error. Nil if the host ended without an error.
    func failure() async -> (any Error)? {
        do { try await running.value } catch { return error }
        return nil
    }

    func events() throws -> [String] { try RunningHost.events(in: logDirectory) }

    func deadLetters() throws -> [String] { try RunningHost.events(in: logDirectory + ".dead-letters") }

    private static func events(in directory: String) throws -> [String] {
        let reader = try EventLogReader(directory: directory, from: .beginning)
        var events: [String] = []
        while let batch = try reader.next() {
            events += String(decoding: batch.body, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        return events
    }
}

struct HostTestError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension PipelineFile {
    /// A pipeline with the stage `gate` and the stage `relay`, which reads the gate's log.
    static func gateAndRelay(
        in folder: Folder, gate: String = "{}", relay: String = "{from: gate}", log: String = "{sync: never}"
    ) throws -> PipelineFile {
        try PipelineFile.parse(
            """
            pipeline: runtime
            data: \(folder.path)
            log: \(log)
            stages:
              gate: \(gate)
              relay: \(relay)
            """, file: "runtime.yaml", registry: Registry())
    }
}
