import BuiltIns
import EventLog
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// A whole pipeline over finite input, in this process and on virtual time.
struct PipelineRun {
    let file: PipelineFile
    let sources: [InputSource]
    let writer: PushWriter
    private let process: PipelineProcess

    /// Without a seed of its own a pipeline has this one, so that each run gives the same bytes.
    static let standardSeed = "belfry run"
    /// The door is in this process; only a machine that stands still lets it be silent this long.
    private static let patience = Duration.seconds(600)

    /// - Parameter data: The folder for its logs.
    init(_ file: PipelineFile, data: String, sources: [InputSource], writer: PushWriter) throws {
        self.file = file
        self.sources = sources
        self.writer = writer
        let context = try HostContext()
        let moved = file.inProcess(
            data: data, seed: file.seed ?? PipelineRun.standardSeed, log: LogSettings(sync: .never))
        process = try PipelineProcess(moved, context: context) { stage in
            HostSurroundings(
                registry: .builtIns, context: context, clock: .event, console: { StandardError.write($0) },
                sink: PipelineRun.sink(for: stage, of: moved, writer))
        }
    }

    /// Only stages that may deliver count for the order in which pushes are written.
    private static func sink(for stage: PipelineStage, of file: PipelineFile, _ writer: PushWriter) -> PushSink {
        guard stage.settings.contains("transports") || file.downstream(of: stage).isEmpty else { return { _ in } }
        return writer.sink(for: stage.name)
    }

    /// Returns when all that the input caused has come out at the end.
    ///
    /// - Returns: What became of the lines.
    /// - Throws: What stopped a stage; ``OutputError`` where pushes could no longer be written.
    func run() async throws -> LineSender.Totals {
        async let running: Void = process.run()
        do {
            let totals = try await feedAndDrain()
            process.stop()
            try await running
            writer.finish()
            if let failure = writer.failure { throw failure }
            return totals
        } catch {
            process.stop()
            try await running
            throw error
        }
    }

    private func feedAndDrain() async throws -> LineSender.Totals {
        await process.source.control.wait { $0.phase == .running }
        let progress = RunProgress(process, writer)
        let showing = Task { await progress.run() }
        defer {
            showing.cancel()
            progress.end()
        }
        let totals = try await SocketThread.run(name: "inputs") { try feed(progress) }
        for host in process.hosts { await host.control.wait { $0.mark >= 1 } }
        return totals
    }

    private func feed(_ progress: RunProgress) throws -> LineSender.Totals {
        let producer = try process.producer("belfry run")
        defer { producer.socket.close() }
        let sender = LineSender(producer, sources) { line in
            progress.clear()
            StandardError.write(line)
        }
        sender.mayContinue = { _ in
            writer.failure == nil && process.hosts.allSatisfy { $0.control.report.phase != .stopped }
        }
        let totals = try sender.run(patience: PipelineRun.patience, resumes: false)
        try producer.moveTime(to: .distantFuture, mark: 1)
        return totals
    }
}
