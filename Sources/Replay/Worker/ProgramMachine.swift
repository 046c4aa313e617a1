import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// A stage as another program has it: another build of ours, or anything that speaks the protocol.
package final class ProgramMachine: StageMachine {
    package let output = MachineOutput()
    package private(set) var deadline: Instant?
    private let worker: WorkerProcess
    private let stage: String
    private let answers: any AnswerSource
    /// The form of the snapshots that the program can take over.
    private var snapshots: Int?

    init(_ command: [String], _ beginning: WorkerBeginning, answers: any AnswerSource, patience: Duration) throws {
        self.answers = answers
        stage = beginning.stage
        worker = try WorkerProcess(command, stage: beginning.stage, patience: patience)
        try start(.begin(beginning), "begin")
    }

    private func start(_ request: WorkerRequest, _ doing: String) throws {
        try worker.exchange({ doing }, { pipe throws(WorkerPipe.Failure) in try pipe.send(request) })
        let reply = try worker.exchange({ doing }, { pipe throws(WorkerPipe.Failure) in try pipe.receiveReply() })
        switch reply {
        case .ready(let snapshots, let deadline): (self.snapshots, self.deadline) = (snapshots, deadline)
        case .failed(let reason): throw ReplayError.worker(stage: stage, reason)
        case .done, .deliver: throw ReplayError.worker(stage: stage, "it was to \(doing), and did something else")
        }
    }

    package func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws {
        try ask(.receive(lines: Array(lines), first: first, now: now)) { "take input from \(first) on" }
    }

    package func advance(to time: Instant) throws {
        try ask(.advance(now: time)) { "move its clock to \(time.rfc3339)" }
    }

    package func skip(through sequence: UInt64) throws { try answers.skip(through: sequence) }

    package func begin(_ header: BatchHeader?) throws { try answers.begin(header) }

    package func settle() throws {
        for answer in try answers.rest() { try ask(.answer(answer)) { "take an answer" } }
    }

    private func ask(_ request: WorkerRequest, _ doing: () -> String) throws {
        try worker.exchange(doing) { pipe throws(WorkerPipe.Failure) in try pipe.send(request) }
        while true {
            switch try worker.exchange(doing, { pipe throws(WorkerPipe.Failure) in try pipe.receiveReply() }) {
            case .done(let result): return try take(result)
            case .deliver(let delivery): try answer(delivery, doing)
            case .failed(let reason): throw ReplayError.worker(stage: stage, reason)
            case .ready: throw ReplayError.worker(stage: stage, "it was to \(doing()), and said ready")
            }
        }
    }

    private func answer(_ delivery: Delivery, _ doing: () -> String) throws {
        let reply = try answers.answer(to: delivery).map { WorkerRequest.answer($0) } ?? .later
        if output.keepsDeliveries { output.deliveries.append(delivery) }
        try worker.exchange(doing) { pipe throws(WorkerPipe.Failure) in try pipe.send(reply) }
    }

    private func take(_ result: WorkerOutput) throws {
        deadline = result.deadline
        let count = result.lines.withUnsafeBytes { output.append($0, result.marks) }
        guard count == result.count else {
            throw ReplayError.worker(stage: stage, "it says it gave \(result.count) events, and gave \(count)")
        }
        for rejected in result.rejected {
            rejected.line.withUnsafeBytes {
                output.outbox.reject(sequence: rejected.sequence, line: $0, rejected.rejection)
            }
        }
    }
}

extension ProgramMachine: RestorableMachine {
    package func restore(_ state: [UInt8], _ header: SnapshotHeader) throws {
        guard snapshots == header.version else {
            let form = snapshots.map { "takes snapshots of form \($0)" } ?? "takes no snapshots"
            throw SnapshotError("\(stage)'s program \(form)", at: 0)
        }
        try start(
            .restore(
                version: header.version, position: header.position, sequence: header.sequence, now: header.now,
                state: state), "go on from a snapshot")
    }
}
