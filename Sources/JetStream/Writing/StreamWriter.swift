import Glibc
import JSON
import NATS
import Synchronization

/// Appends messages to a stream, one at a time, as long as nobody else does: ``FencedWriter`` over a connection.
///
/// A writer belongs to one thread, except that any thread may call ``Interruption/interrupt()``.
package final class StreamWriter {
    package struct Settings: Sendable, Hashable {
        /// How long the writer waits for an answer before it asks what became of its message.
        package var answerTimeout = Duration.seconds(2)
        /// The time between two attempts.
        package var pause = Duration.milliseconds(100)

        package init() {}
    }

    /// Ends the ``StreamWriter/publish(_:)`` that waits, and all later ones. Several writers can share one.
    package final class Interruption: Sendable {
        private let isSet = Atomic(false)

        package init() {}

        /// The writer notices this within ``StreamWriter/Settings/answerTimeout``.
        package func interrupt() { isSet.store(true, ordering: .releasing) }

        package var isInterrupted: Bool { isSet.load(ordering: .acquiring) }
    }

    package let interruption: Interruption
    private let jetStream: JetStream
    private let settings: Settings
    private let onDelay: (WriterDelay?) -> Void
    private var delay: WriterDelay?
    private var fenced: FencedWriter

    /// - Parameters:
    ///   - last: Where the stream ended when this writer had read all of it; 0 for an empty stream.
    ///   - onDelay: Called on the writer's thread with the reason if a message cannot be stored at the moment, and with
    ///     nil when it was stored.
    package init(
        _ connection: NATSConnection, _ stream: StreamName, name: WriterName, last: UInt64,
        settings: Settings = Settings(), interruption: Interruption = Interruption(),
        onDelay: @escaping (WriterDelay?) -> Void = { _ in }
    ) {
        jetStream = JetStream(connection, answerTimeout: settings.answerTimeout)
        (self.settings, self.interruption, self.onDelay) = (settings, interruption, onDelay)
        fenced = FencedWriter(stream, name: name, last: last)
    }

    /// The sequence of the last message that this writer stored; before the first, where the stream ended.
    package var last: UInt64 { fenced.last }

    /// Stores a message as the next one of the stream. Returns when a majority of the stream's servers has it.
    ///
    /// While the servers are full or cannot be reached, the call waits and tries again.
    ///
    /// - Returns: The message's sequence.
    /// - Throws: ``JetStreamError/replaced(stream:sequence:by:)`` if another writer has continued the stream, or
    ///   another error. After an error the writer stores nothing more: each later call throws the same error.
    package func publish(_ message: NATSMessage) throws(JetStreamError) -> UInt64 {
        var step = fenced.publish(message)
        while true {
            if case .finish(let outcome) = step.action { return try finish(outcome) }
            let answer = interruption.isInterrupted ? .impossible(interrupted) : perform(step.action)
            // There is one step at a time, so each answer belongs to the step in progress.
            guard let next = fenced.receive(answer, to: step.number) else {
                preconditionFailure("the answer \(answer) to \(step.action) has no next step")
            }
            step = next
        }
    }

    private func finish(_ outcome: FencedWriter.Outcome) throws(JetStreamError) -> UInt64 {
        switch outcome {
        case .stored(let sequence):
            tell(nil)
            return sequence
        case .ended(let error): throw error
        }
    }

    private var interrupted: JetStreamError { .interrupted(stream: fenced.stream.text, sequence: fenced.last + 1) }

    private func tell(_ new: WriterDelay?) {
        guard new != delay else { return }
        delay = new
        onDelay(new)
    }
}

// MARK: - Actions

extension StreamWriter {
    private func perform(_ action: FencedWriter.Action) -> FencedWriter.Answer {
        do throws(JetStreamError) {
            switch action {
            case .publish(let message): return try send(message)
            case .findEnd:
                let info = try jetStream.info(fenced.stream)
                return .end(first: info.first, last: info.last)
            case .readMessage(let sequence): return .message(try jetStream.message(sequence, of: fenced.stream))
            case .pause(let delay):
                tell(delay)
                usleep(UInt32(clamping: Int64(settings.pause / .microseconds(1))))
                return .resumed
            case .finish: preconditionFailure("a finished publish needs no action")
            }
        } catch { return StreamWriter.answer(error) }
    }

    private func send(_ message: NATSMessage) throws(JetStreamError) -> FencedWriter.Answer {
        do throws(JetStreamError) {
            let (sequence, stream) = try jetStream.ask(message, "append to", fenced.stream) { answer in
                answer["seq"]?.uint64.map { ($0, answer["stream"]?.string ?? "") }
            }
            guard stream == fenced.stream.text else { throw .elsewhere(stream: fenced.stream.text, other: stream) }
            return .stored(sequence)
        } catch {
            if case .refused(_, _, let refusal) = error { return .refused(refusal) }
            throw error
        }
    }

    /// What an error means to the writer.
    private static func answer(_ error: JetStreamError) -> FencedWriter.Answer {
        switch error {
        case .refused(_, _, let refusal) where refusal.code == JetStreamRefusal.Code.streamNotFound: .noStream
        case .refused(_, _, let refusal) where refusal.isNoQuorum: .none(.noQuorum)
        case .withoutLeader: .none(.noQuorum)
        case .unreadable: .none(.noAnswer)
        case .unanswered(_, _, let error) where delay(error) != nil: .none(delay(error) ?? .noAnswer)
        default: .impossible(error)
        }
    }

    /// Nil if the same request will not be answered later either.
    private static func delay(_ error: NATSError) -> WriterDelay? {
        switch error {
        case .notConnected, .connectionLost, .writeStalled: .noConnection
        case .timedOut: .noAnswer
        // Only the leader of a stream subscribes to the stream's subjects, so the stream has no leader.
        case .noResponders: .noQuorum
        default: nil
        }
    }
}
