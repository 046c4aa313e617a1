import BuiltIns
import PipelineKit
import PipelineRuntime
import Synchronization
import ZeroMQ

/// Runs a whole pipeline over finite input, on virtual time. All stages run in this process, except that a stage with a
/// `command` runs as a child process.
struct PipelineRun {
    /// Gets each message about refused lines, lost answers and warnings.
    typealias LineReport = @Sendable (String) -> Void

    private let file: PipelineFile
    private let sources: [InputSource]
    private let writer: PushWriter
    private let reportLine: LineReport

    /// The seed for a pipeline file without one, so that each run gives the same bytes.
    static let standardSeed = "belfry run"

    init(
        _ file: PipelineFile, data: String, sources: [InputSource], writer: PushWriter,
        reportLine: @escaping LineReport = { StandardError.write($0) }
    ) {
        self.file = file.inProcess(
            data: data, seed: file.seed ?? PipelineRun.standardSeed, log: LogSettings(sync: .never))
        self.sources = sources
        self.writer = writer
        self.reportLine = reportLine
    }

    /// Returns when all effects of the input have passed through all stages.
    ///
    /// A ``LineReader/restartLine`` stops all stages when ingest has answered the lines before it, and starts them
    /// again over the same logs.
    ///
    /// - Throws: The error that stopped a stage; ``ToolFailure`` if an input cannot be read; ``OutputError`` if pushes
    ///   could not be written.
    func run() async throws -> LineSender.Totals {
        let input = RunInput(sources)
        var totals = LineSender.Totals()
        var isOver = false
        while !isOver {
            let part = try await PartialRun(file, writer, reportLine).run(input)
            totals += part.totals
            isOver = !part.endsWithRestart
        }
        writer.finish()
        if let failure = writer.failure { throw failure }
        return totals
    }
}

/// The input that is not read yet. The parts of a run read it one after the other.
private final class RunInput: Sendable {
    let reader: Mutex<LineReader>

    init(_ sources: [InputSource]) { reader = Mutex(LineReader(sources, recognizesRestarts: true)) }
}

/// A run of all stages from a start to the next stop.
private struct PartialRun {
    typealias Part = (totals: LineSender.Totals, endsWithRestart: Bool)

    private let writer: PushWriter
    private let reportLine: PipelineRun.LineReport
    private let process: PipelineProcess

    /// How long the door may be silent. The door is in this process, so only a machine that hangs needs longer.
    private static let silenceMax = Duration.seconds(600)

    init(_ file: PipelineFile, _ writer: PushWriter, _ reportLine: @escaping PipelineRun.LineReport) throws {
        self.writer = writer
        self.reportLine = reportLine
        let context = try HostContext()
        process = try PipelineProcess(file, context: context) { stage in
            HostSurroundings(
                registry: .builtIns, context: context, clock: .event, console: { StandardError.write($0) },
                sink: PartialRun.sink(for: stage, of: file, writer))
        }
    }

    /// The writer's sink for a stage that may deliver. For other stages, a sink that ignores pushes.
    private static func sink(for stage: PipelineStage, of file: PipelineFile, _ writer: PushWriter) -> PushSink {
        guard stage.settings.contains("transports") || file.downstream(of: stage).isEmpty else { return { _ in } }
        return writer.sink(for: stage.name)
    }

    /// Processes the input up to the next ``LineReader/restartLine`` or to its end.
    func run(_ input: RunInput) async throws -> Part {
        async let running: Void = process.run()
        do {
            let part = try await feedAndDrain(input)
            process.stop()
            try await running
            return part
        } catch {
            process.stop()
            try await running
            throw error
        }
    }

    private func feedAndDrain(_ input: RunInput) async throws -> Part {
        await process.source.control.wait { $0.phase == .running }
        let progress = RunProgress(process, writer)
        let showing = Task { await progress.run() }
        defer {
            showing.cancel()
            progress.end()
        }
        let part = try await SocketThread.run(name: "inputs") { try input.reader.withLock { try feed($0, progress) } }
        if !part.endsWithRestart { for host in process.hosts { await host.control.wait { $0.mark >= 1 } } }
        return part
    }

    private func feed(_ reader: LineReader, _ progress: RunProgress) throws -> Part {
        let producer = try process.producer("belfry run")
        defer { producer.socket.close() }
        let sender = LineSender(producer, reader) { line in
            progress.clear()
            reportLine(line)
        }
        sender.tracksLines = true
        sender.mayContinue = { _ in
            writer.failure == nil && process.hosts.allSatisfy { $0.control.report.phase != .stopped }
        }
        let totals = try sender.run(silenceMax: PartialRun.silenceMax, resumes: false)
        if !sender.stoppedAtRestart { try producer.moveTime(to: .distantFuture, mark: 1) }
        return (totals, sender.stoppedAtRestart)
    }
}
