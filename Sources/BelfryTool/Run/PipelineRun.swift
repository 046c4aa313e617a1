import BuiltIns
import PipelineKit
import PipelineRuntime
import Synchronization
import ZeroMQ

/// A whole pipeline over finite input, in this process and on virtual time.
struct PipelineRun {
    /// Takes what there is to say of lines.
    typealias Complaint = @Sendable (String) -> Void

    private let file: PipelineFile
    private let sources: [InputSource]
    private let writer: PushWriter
    private let complain: Complaint

    /// Without a seed of its own a pipeline has this one, so that each run gives the same bytes.
    static let standardSeed = "belfry run"

    /// - Parameter data: The folder for its logs.
    init(
        _ file: PipelineFile, data: String, sources: [InputSource], writer: PushWriter,
        complain: @escaping Complaint = { StandardError.write($0) }
    ) {
        self.file = file.inProcess(
            data: data, seed: file.seed ?? PipelineRun.standardSeed, log: LogSettings(sync: .never))
        self.sources = sources
        self.writer = writer
        self.complain = complain
    }

    /// Returns when all that the input caused has come out at the end.
    ///
    /// A line that says so (``LineReader/restartLine``) stops all stages when its input so far is taken, wherever each of
    /// them then is, and starts them again over the same logs.
    ///
    /// - Returns: What became of the lines.
    /// - Throws: What stopped a stage; ``OutputError`` where pushes could no longer be written.
    func run() async throws -> LineSender.Totals {
        let input = RunInput(sources)
        var totals = LineSender.Totals()
        var isOver = false
        while !isOver {
            let part = try await PipelineLife(file, writer, complain).run(input)
            totals += part.totals
            isOver = !part.restarts
        }
        writer.finish()
        if let failure = writer.failure { throw failure }
        return totals
    }
}

/// What is still to be read, by one part of a run after the other.
private final class RunInput: Sendable {
    let reader: Mutex<LineReader>

    init(_ sources: [InputSource]) { reader = Mutex(LineReader(sources, takesRestarts: true)) }
}

/// All stages from one start to one stop.
private struct PipelineLife {
    typealias Part = (totals: LineSender.Totals, restarts: Bool)

    private let writer: PushWriter
    private let complain: PipelineRun.Complaint
    private let process: PipelineProcess

    /// The door is in this process; only a machine that stands still lets it be silent this long.
    private static let patience = Duration.seconds(600)

    init(_ file: PipelineFile, _ writer: PushWriter, _ complain: @escaping PipelineRun.Complaint) throws {
        self.writer = writer
        self.complain = complain
        let context = try HostContext()
        process = try PipelineProcess(file, context: context) { stage in
            HostSurroundings(
                registry: .builtIns, context: context, clock: .event, console: { StandardError.write($0) },
                sink: PipelineLife.sink(for: stage, of: file, writer))
        }
    }

    /// Only stages that may deliver count for the order in which pushes are written.
    private static func sink(for stage: PipelineStage, of file: PipelineFile, _ writer: PushWriter) -> PushSink {
        guard stage.settings.contains("transports") || file.downstream(of: stage).isEmpty else { return { _ in } }
        return writer.sink(for: stage.name)
    }

    /// Takes what there is to read, up to a restart.
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
        if !part.restarts { for host in process.hosts { await host.control.wait { $0.mark >= 1 } } }
        return part
    }

    private func feed(_ reader: LineReader, _ progress: RunProgress) throws -> Part {
        let producer = try process.producer("belfry run")
        defer { producer.socket.close() }
        let sender = LineSender(producer, reader) { line in
            progress.clear()
            complain(line)
        }
        sender.tracksLines = true
        sender.mayContinue = { _ in
            writer.failure == nil && process.hosts.allSatisfy { $0.control.report.phase != .stopped }
        }
        let totals = try sender.run(patience: PipelineLife.patience, resumes: false)
        if !sender.restarts { try producer.moveTime(to: .distantFuture, mark: 1) }
        return (totals, sender.restarts)
    }
}
