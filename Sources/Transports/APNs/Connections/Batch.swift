import NIOCore
import PipelineKit

/// Pushes of one window that one pool took, and the answers they have so far. Belongs to the pool's event loop.
final class Batch {
    private let promise: EventLoopPromise<[TransportAnswer]>
    private var answers: [TransportAnswer] = []
    private(set) var outstanding: Int
    /// How often the pool's server had answered when it began.
    let answersBefore: Int
    let begun = NIODeadline.now()
    /// Ends the wait for answers.
    var timeout: Scheduled<Void>?

    init(count: Int, answersBefore: Int, _ promise: EventLoopPromise<[TransportAnswer]>) {
        outstanding = count
        self.answersBefore = answersBefore
        self.promise = promise
        answers.reserveCapacity(count)
    }

    func answer(_ answer: TransportAnswer) {
        precondition(outstanding > 0, "each push is answered once")
        answers.append(answer)
        outstanding -= 1
        guard outstanding == 0 else { return }
        timeout?.cancel()
        promise.succeed(answers)
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
    /// How often it was written to a connection, for as far as that counts.
    var attempts = 0
    /// How often in a row a server gave it back unread.
    var returned = 0
    /// How often a window ended before its answer came.
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
