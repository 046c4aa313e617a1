import NIOCore
import PipelineKit

/// Pushes that one pool took together, and that are waited for together. Belongs to the pool's event loop.
final class Batch {
    let report: AnswerReport
    private(set) var outstanding: Int
    /// How often the pool's server had answered when it began.
    let answersBefore: Int
    let begun = NIODeadline.now()
    /// Ends the wait for answers.
    var timeout: Scheduled<Void>?

    init(count: Int, answersBefore: Int, _ report: AnswerReport) {
        outstanding = count
        self.answersBefore = answersBefore
        self.report = report
    }

    func answer(_ answer: TransportAnswer) {
        precondition(outstanding > 0, "each push is answered once")
        outstanding -= 1
        if outstanding == 0 { timeout?.cancel() }
        report.add(answer)
    }
}

/// Gives answers to whoever handed the pushes in: those of one turn of the event loop together.
final class AnswerReport {
    private let loop: any EventLoop
    private let answered: @Sendable ([TransportAnswer]) -> Void
    private var answers: [TransportAnswer] = []

    init(_ loop: any EventLoop, _ answered: @escaping @Sendable ([TransportAnswer]) -> Void) {
        (self.loop, self.answered) = (loop, answered)
    }

    func add(_ answer: TransportAnswer) {
        answers.append(answer)
        guard answers.count == 1 else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.execute { bound.value.flush() }
    }

    /// Gives what has come. To be called where the event loop may have no further turn.
    func flush() {
        guard !answers.isEmpty else { return }
        let answers = answers
        self.answers = []
        answered(answers)
    }
}

/// A push on its way.
struct Request {
    let push: APNsPush
    /// The number of its ``APNsPush/kind`` in the pool.
    let kind: Int
    let taken: NIODeadline
    /// Who waits for its answer; nil once it has been told that it takes longer.
    var batch: Batch?
    /// Where its answers go.
    var report: AnswerReport
    /// How often it was written to a connection, for as far as that counts.
    var attempts = 0
    /// How often in a row a server gave it back unread.
    var returned = 0
    /// How often it was told to take longer.
    var handouts = 0
    var wasAskedOnceMore = false
    /// Whether it waits for another one of its lane.
    var isBehind = false
    var mayRepeat = false
    /// Where it is under way; nil while it waits for room.
    var flight: Flight?

    struct Flight {
        let connection: APNsConnection
        let stream: UInt32
        let deadline: NIODeadline
    }
}
