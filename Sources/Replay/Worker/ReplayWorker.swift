import EventLog
import Glibc
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Runs a stage in this process, for a replay in another process. Reads requests from standard input, and writes
/// replies to standard output.
package struct ReplayWorker {
    private let pipe: WorkerPipe
    private let registry: Registry

    /// Redirects the process's standard output to standard error, so that nothing else is printed among the replies.
    package init(registry: Registry) {
        self.registry = registry
        pipe = WorkerPipe(input: STDIN_FILENO, output: dup(STDOUT_FILENO), isSocket: false)
        dup2(STDERR_FILENO, STDOUT_FILENO)
    }

    /// Returns when the replay closes standard input, or after an error that was reported to the replay.
    package func run() throws {
        do { try serve() } catch WorkerPipe.Failure.ended { return } catch WorkerPipe.Failure.invalidMessage(let reason)
        {
            try pipe.send(.failed(reason: reason))
        }
    }

    private func serve() throws {
        guard case .begin(let beginning) = try pipe.receiveRequest() else {
            return try pipe.send(.failed(reason: "the first request is not 'begin'"))
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
            try beginning.reader().decode(S.Settings.self), context: context, answers: RemoteAnswers(pipe),
            history: history)
        try pipe.send(.ready(snapshotVersion: S.snapshotVersion, deadline: machine.deadline))
        while true { try serve(try pipe.receiveRequest(), machine) }
    }

    private func serve<S: Stage>(_ request: WorkerRequest, _ machine: SwiftMachine<S>) throws {
        switch request {
        case .receive(let lines, let first, let now):
            try lines.withUnsafeBytes { try machine.receive($0, first: first, at: now) }
            try sendOutput(of: machine)
        case .advance(let now):
            try machine.advance(to: now)
            try sendOutput(of: machine)
        case .restore(let version, let position, let sequence, let now, let state):
            let none = LogIdentity(high: 0, low: 0)
            let header = SnapshotHeader(
                stage: "", version: version, log: none, upstream: none, cursor: Cursor(["": position]),
                sequence: sequence, now: now)
            try machine.restore(state, header)
            try pipe.send(.ready(snapshotVersion: S.snapshotVersion, deadline: machine.deadline))
        case .answer(let answer):
            machine.receive(answer)
            try sendOutput(of: machine)
        case .begin, .later:
            throw WorkerPipe.Failure.invalidMessage("received a second 'begin', or a 'later' without a delivery")
        }
    }

    private func sendOutput(of machine: any StageMachine) throws {
        let output = machine.output
        let result = WorkerOutput(
            count: output.count, lines: Array(output.lines), marks: output.marks,
            rejected: output.outbox.takeRejections(), deadline: machine.deadline)
        output.removeAll()
        try pipe.send(.done(result))
    }
}

/// Asks the replay's process for answers.
private final class RemoteAnswers: AnswerSource {
    private let pipe: WorkerPipe

    init(_ pipe: WorkerPipe) { self.pipe = pipe }

    func answer(to delivery: Delivery) throws -> TransportAnswer? {
        try pipe.send(.deliver(delivery))
        switch try pipe.receiveRequest() {
        case .answer(let answer): return answer
        case .later: return nil
        default: throw WorkerPipe.Failure.invalidMessage("the delivery was not answered with 'answer' or 'later'")
        }
    }
}

extension WorkerBeginning {
    fileprivate func reader() throws -> SettingsReader {
        var parser = JSONParser()
        let reader = try Array(settings.utf8).withUnsafeBytes {
            SettingsReader(record: try parser.parse($0), file: "settings", folder: "/", keyPath: kind)
        }
        guard let reader else { throw ReplayError.unreadable("settings", "they are not a JSON object") }
        return reader
    }
}
