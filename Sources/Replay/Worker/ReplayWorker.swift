import EventLog
import Glibc
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Does a stage's work for a replay that runs in another process, on standard input and output.
package struct ReplayWorker {
    private let pipe: WorkerPipe
    private let registry: Registry

    /// - Parameters:
    ///   - input: Where requests come from.
    ///   - output: Where replies go.
    package init(registry: Registry, input: Int32, output: Int32) {
        self.registry = registry
        pipe = WorkerPipe(input: input, output: output, isSocket: false)
    }

    /// Takes over standard input and output: what anything else prints goes to standard error.
    package init(registry: Registry) {
        self.init(registry: registry, input: STDIN_FILENO, output: dup(STDOUT_FILENO))
        dup2(STDERR_FILENO, STDOUT_FILENO)
    }

    /// Returns when the replay has ended.
    package func run() throws {
        do { try serve() } catch WorkerPipe.Failure.ended { return } catch WorkerPipe.Failure.nonsense(let reason) {
            try pipe.send(.failed(reason: reason))
        }
    }

    private func serve() throws {
        guard case .begin(let beginning) = try pipe.receiveRequest() else {
            return try pipe.send(.failed(reason: "the first request is begin"))
        }
        do {
            guard let type = registry.stages[beginning.kind] else {
                throw ReplayError.unknownStage(beginning.stage, kind: beginning.kind)
            }
            try serve(type, beginning)
        } catch let failure as WorkerPipe.Failure { throw failure } catch {
            try pipe.send(.failed(reason: "\(error)"))
        }
    }

    private func serve<S: Stage>(_ type: S.Type, _ beginning: WorkerBeginning) throws {
        let history = SettingsHistory(beginning.history, path: "settings")
        var context = beginning.context
        context.registry = registry
        let machine = try SwiftMachine<S>(
            try beginning.reader().decode(S.Settings.self), context: context, answers: AskedAnswers(pipe),
            history: history)
        try pipe.send(.ready(snapshots: S.snapshotVersion, deadline: machine.deadline))
        while true { try answer(try pipe.receiveRequest(), machine, S.snapshotVersion) }
    }

    private func answer<S: Stage>(_ request: WorkerRequest, _ machine: SwiftMachine<S>, _ form: Int?) throws {
        switch request {
        case .receive(let lines, let first, let now):
            try lines.withUnsafeBytes { try machine.receive($0, first: first, at: now) }
            try give(machine)
        case .advance(let now):
            try machine.advance(to: now)
            try give(machine)
        case .restore(let version, let position, let sequence, let now, let state):
            let none = LogIdentity(high: 0, low: 0)
            let header = SnapshotHeader(
                stage: "", version: version, log: none, upstream: none, cursor: Cursor(["": position]),
                sequence: sequence, now: now)
            try machine.restore(state, header)
            try pipe.send(.ready(snapshots: form, deadline: machine.deadline))
        case .answer(let answer):
            machine.receive(answer)
            try give(machine)
        case .begin, .later: try pipe.send(.failed(reason: "begin comes first, and later after a delivery"))
        }
    }

    private func give(_ machine: any StageMachine) throws {
        let output = machine.output
        let result = WorkerOutput(
            count: output.count, lines: Array(output.lines), marks: output.marks,
            rejected: output.outbox.takeRejections(), deadline: machine.deadline)
        output.removeAll()
        try pipe.send(.done(result))
    }
}

/// Answers that the replay's own process knows.
private final class AskedAnswers: AnswerSource {
    private let pipe: WorkerPipe

    init(_ pipe: WorkerPipe) { self.pipe = pipe }

    func answer(to delivery: Delivery) throws -> TransportAnswer? {
        try pipe.send(.deliver(delivery))
        switch try pipe.receiveRequest() {
        case .answer(let answer): return answer
        case .later: return nil
        default: throw WorkerPipe.Failure.nonsense("behind a delivery comes answer or later")
        }
    }
}

extension WorkerBeginning {
    /// The settings as a pipeline file's.
    fileprivate func reader() throws -> SettingsReader {
        var parser = JSONParser()
        let reader = try Array(settings.utf8).withUnsafeBytes {
            SettingsReader(record: try parser.parse($0), file: "settings", folder: "/", keyPath: kind)
        }
        guard let reader else { throw ReplayError.unreadable("settings", "they are no object") }
        return reader
    }
}
