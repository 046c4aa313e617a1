import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Runs a stage in another program: another build of Belfry, or any program that speaks the worker protocol.
final class ProgramMachine: StageMachine {
    let output = MachineOutput()
    private(set) var deadline: Instant?
    private let worker: WorkerProcess
    private let stage: String
    private let answers: any AnswerSource
    /// The version of the snapshots that the program can restore; nil if it cannot restore any.
    private var snapshotVersion: Int?

    init(
        _ command: [String], _ beginning: WorkerBeginning, answers: any AnswerSource, replyTimeout: Duration
    ) throws {
        self.answers = answers
        stage = beginning.stage
        worker = try WorkerProcess(command, stage: beginning.stage, replyTimeout: replyTimeout)
        try start(.begin(beginning), "begin")
    }

    private func start(_ request: WorkerRequest, _ task: String) throws {
        try worker.send(request, task: { task })
        switch try worker.receive(task: { task }) {
        case .ready(let version, let deadline): (snapshotVersion, self.deadline) = (version, deadline)
        case .failed(let reason): throw ReplayError.worker(stage: stage, reason)
        case .done, .deliver:
            throw ReplayError.worker(stage: stage, "its program had to \(task), but did not reply with ready")
        }
    }

    func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws {
        try run(.receive(lines: Array(lines), first: first, now: now)) { "receive the events from \(first) on" }
    }

    func advance(to time: Instant) throws {
        try run(.advance(now: time)) { "move its clock to \(time.rfc3339)" }
    }

    func skip(through sequence: UInt64) throws { try answers.skip(through: sequence) }

    func begin(_ header: BatchHeader?) throws { try answers.begin(header) }

    func settle() throws {
        for answer in try answers.takeAnswersToEarlierPushes() { try run(.answer(answer)) { "receive an answer" } }
    }

    private func run(_ request: WorkerRequest, _ task: () -> String) throws {
        try worker.send(request, task: task)
        while true {
            switch try worker.receive(task: task) {
            case .done(let result): return try append(result)
            case .deliver(let delivery):
                if output.keepsDeliveries { output.deliveries.append(delivery) }
                try worker.send(answers.answer(to: delivery).map { .answer($0) } ?? .later, task: task)
            case .failed(let reason): throw ReplayError.worker(stage: stage, reason)
            case .ready: throw ReplayError.worker(stage: stage, "its program had to \(task()), but replied with ready")
            }
        }
    }

    private func append(_ result: WorkerOutput) throws {
        deadline = result.deadline
        let count = result.lines.withUnsafeBytes { output.append($0, result.marks) }
        guard count == result.count else {
            throw ReplayError.worker(stage: stage, "its program says it sent \(result.count) events, but sent \(count)")
        }
        for rejected in result.rejected {
            rejected.line.withUnsafeBytes {
                output.outbox.reject(sequence: rejected.sequence, line: $0, rejected.rejection)
            }
        }
    }
}

extension ProgramMachine: RestorableMachine {
    func restore(_ state: [UInt8], _ header: SnapshotHeader) throws {
        guard snapshotVersion == header.version else {
            let versions = snapshotVersion.map { "only snapshots of version \($0)" } ?? "no snapshots"
            throw SnapshotError("the program of \(stage) can restore \(versions)", at: 0)
        }
        try start(
            .restore(
                version: header.version, position: header.position, sequence: header.sequence, now: header.now,
                state: state), "restore a snapshot")
    }
}
