import NATS

/// Why a writer cannot store its message at the moment. It tries again by itself.
package enum WriterDelay: Sendable, Hashable {
    /// The stream, the account or a disk of the servers is full.
    case diskFull
    /// No majority of the stream's servers is there, or the stream has no leader yet.
    case noQuorum
    /// There is no connection to a server.
    case noConnection
    /// A server did not answer in time.
    case noAnswer
    /// The leader's answers contradict each other or what was acknowledged. A new leader may not know all messages yet.
    case contradiction
}

/// Appends messages to a stream, one at a time, as long as nobody else does.
///
/// This value only decides what to do. It has no clock and no I/O: its owner carries out each ``Step`` and passes the
/// answer to ``receive(_:to:)``. ``StreamWriter`` is the owner that does so over a connection. The rules are:
///
/// - Each publish names the sequence that it expects to be the **stream's** last (`Nats-Expected-Last-Sequence`). At
///   most one message is in flight. With several, this header would not keep a replaced writer out: the second message
///   expects the sequence that the successor's first message got.
/// - A message is published for a *slot*: the sequence after ``last``.
/// - If the outcome of a publish is unknown, the writer asks the stream's leader where the stream ends, and reads the
///   message in the slot:
///   - The writer itself wrote the message there: the publish counts as stored.
///   - Another writer wrote it: this writer was replaced, and never publishes again.
///   - There is no message: the same bytes are published again for the same slot. If the first publish arrives after
///     all, only one of the two is stored.
/// - The header ``WriterName/header`` of a message says who wrote it.
package struct FencedWriter: Sendable {
    /// What the owner has to do next.
    package struct Step: Sendable, Hashable {
        /// The owner passes this number with the answer, so that a late answer to an earlier step is recognized.
        package let number: Int
        package let action: Action
    }

    package enum Action: Sendable, Hashable {
        /// Publish the message, exactly as it is.
        case publish(NATSMessage)
        /// Ask the stream's leader for the first and last sequence.
        case findEnd
        /// Ask the stream's leader for a message.
        case readMessage(UInt64)
        /// Wait for a moment, for this reason.
        case pause(WriterDelay)
        /// The publish is over. There is no answer to this.
        case finish(Outcome)
    }

    package enum Outcome: Sendable, Hashable {
        case stored(UInt64)
        /// The writer has ended for good.
        case ended(JetStreamError)
    }

    /// The answer to an action.
    package enum Answer: Sendable, Hashable {
        /// To a publish: the server stored the message at this place.
        case stored(UInt64)
        /// To a publish: the server did not store it.
        case refused(JetStreamRefusal)
        /// To a search for the end: the leader's first and last sequence.
        case end(first: UInt64, last: UInt64)
        /// To a search for the end: there is no such stream.
        case noStream
        /// To the reading of a message; nil if the leader has none with this sequence.
        case message(StoredMessage?)
        /// To a pause.
        case resumed
        /// To a publish, a search or a reading: no answer, for this reason.
        case none(WriterDelay)
        /// To any action: it cannot be carried out, now or later.
        case impossible(JetStreamError)
    }

    private enum State: Sendable, Hashable {
        case idle
        case publishing(NATSMessage)
        case finding(NATSMessage)
        case reading(NATSMessage)
        case pausing(NATSMessage)
        case ended(JetStreamError)
    }

    package static let expectedSequenceHeader = "Nats-Expected-Last-Sequence"
    /// The most contradictions during one publish. After that, the stream counts as damaged or deleted.
    package static let contradictionsMax = 100

    package let stream: StreamName
    package let name: WriterName
    /// The sequence of the last message that counts as stored.
    package private(set) var last: UInt64
    private var state = State.idle
    private var number = 0
    private var contradictions = 0

    /// - Parameter last: Where the stream ended when this writer had read all of it; 0 for an empty stream.
    package init(_ stream: StreamName, name: WriterName, last: UInt64) {
        (self.stream, self.name, self.last) = (stream, name, last)
    }

    /// The slot of the next message, or of the one in flight.
    private var slot: UInt64 { last + 1 }

    /// Begins to publish a message.
    ///
    /// - Precondition: The former publish is over, and the message has no header that begins with `Nats-`.
    package mutating func publish(_ message: NATSMessage) -> Step {
        if case .ended(let error) = state { return step(.finish(.ended(error))) }
        precondition(state == .idle, "message \(slot) of stream \(stream) is in flight")
        precondition(!message.headers.contains { $0.name.hasPrefix("Nats-") }, "the message has a header of NATS")
        var signed = message
        signed.headers.append(NATSHeader(WriterName.header, "\(name)"))
        signed.headers.append(NATSHeader(FencedWriter.expectedSequenceHeader, "\(last)"))
        contradictions = 0
        return publishing(signed)
    }

    /// - Returns: The next step; nil if the answer is not one to the step in progress.
    package mutating func receive(_ answer: Answer, to number: Int) -> Step? {
        guard number == self.number else { return nil }
        if case .impossible(let error) = answer { return end(error) }
        switch state {
        case .idle, .ended: return nil
        case .publishing(let message): return published(message, answer)
        case .finding(let message): return found(answer, for: message)
        case .reading(let message): return read(answer, for: message)
        case .pausing(let message): return finding(message)
        }
    }

    // MARK: Answers

    private mutating func published(_ message: NATSMessage, _ answer: Answer) -> Step? {
        switch answer {
        case .stored(slot): return stored()
        case .stored(let found): return end(.misplaced(stream: stream.text, expected: slot, found: found))
        case .none(let delay): return pausing(message, delay)
        case .refused(let refusal): return refused(message, refusal)
        default: return nil
        }
    }

    private mutating func refused(_ message: NATSMessage, _ refusal: JetStreamRefusal) -> Step {
        switch refusal.code {
        // An earlier publish of the same message may have been stored, or another writer's message.
        case JetStreamRefusal.Code.wrongLastSequence:
            if contradictions == 0 {
                contradictions = 1
                return finding(message)
            }
            return contradicted(message, .refused(operation: "append to", stream: stream.text, refusal))
        case _ where refusal.isDiskFull: return pausing(message, .diskFull)
        case _ where refusal.isNoQuorum: return pausing(message, .noQuorum)
        default: return end(.refused(operation: "append to", stream: stream.text, refusal))
        }
    }

    private mutating func found(_ answer: Answer, for message: NATSMessage) -> Step? {
        switch answer {
        case .end(let first, _) where first > slot:
            return end(.replaced(stream: stream.text, sequence: slot, by: nil))
        case .end(_, let end) where end > last: return reading(message)
        case .end(_, last): return publishing(message)
        case .end(_, let end):
            return contradicted(message, .shortened(stream: stream.text, acknowledged: last, last: end))
        case .noStream: return contradicted(message, .deleted(stream: stream.text))
        case .none(let delay): return pausing(message, delay)
        default: return nil
        }
    }

    private mutating func read(_ answer: Answer, for message: NATSMessage) -> Step? {
        switch answer {
        case .message(let stored?): return judge(stored, message)
        // The message was there a moment ago, so another leader may have answered.
        case .message(nil): return contradicted(message, .gap(stream: stream.text, sequence: slot))
        case .none(let delay): return pausing(message, delay)
        default: return nil
        }
    }

    /// Decides whose message is in the slot.
    private mutating func judge(_ stored: StoredMessage, _ message: NATSMessage) -> Step {
        let writer = stored.header(WriterName.header).flatMap { WriterName($0) }
        guard writer == name else { return end(.replaced(stream: stream.text, sequence: slot, by: writer)) }
        guard stored.body == message.body, stored.subject == message.subject else {
            return end(.changed(stream: stream.text, sequence: slot))
        }
        return self.stored()
    }

    // MARK: Steps

    private mutating func step(_ action: Action) -> Step {
        number += 1
        return Step(number: number, action: action)
    }

    private mutating func publishing(_ message: NATSMessage) -> Step {
        state = .publishing(message)
        return step(.publish(message))
    }

    private mutating func finding(_ message: NATSMessage) -> Step {
        state = .finding(message)
        return step(.findEnd)
    }

    private mutating func reading(_ message: NATSMessage) -> Step {
        state = .reading(message)
        return step(.readMessage(slot))
    }

    private mutating func pausing(_ message: NATSMessage, _ delay: WriterDelay) -> Step {
        state = .pausing(message)
        return step(.pause(delay))
    }

    /// A leader lacks what it should have. If this happens again and again, the writer ends with `error`.
    private mutating func contradicted(_ message: NATSMessage, _ error: JetStreamError) -> Step {
        contradictions += 1
        return contradictions > FencedWriter.contradictionsMax ? end(error) : pausing(message, .contradiction)
    }

    private mutating func stored() -> Step {
        last += 1
        state = .idle
        return step(.finish(.stored(last)))
    }

    private mutating func end(_ error: JetStreamError) -> Step {
        state = .ended(error)
        return step(.finish(.ended(error)))
    }
}
