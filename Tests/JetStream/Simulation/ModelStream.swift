import NATS

@testable import JetStream

/// A stream in memory that stores and refuses messages as a leader does.
struct ModelStream {
    private(set) var messages: [NATSMessage] = []
    var isFull = false

    var last: UInt64 { UInt64(messages.count) }

    mutating func publish(_ message: NATSMessage) -> FencedWriter.Answer {
        if isFull { return .refused(JetStreamRefusal(code: 10077, text: "maximum bytes exceeded")) }
        if let expected = message.header(FencedWriter.expectedSequenceHeader), expected != "\(last)" {
            return .refused(JetStreamRefusal(code: 10071, text: "wrong last sequence: \(last)"))
        }
        messages.append(message)
        return .stored(last)
    }

    /// - Parameter lag: How many of the newest messages the answering server does not know yet.
    func end(lag: UInt64) -> FencedWriter.Answer { .end(first: 1, last: last - min(lag, last)) }

    func message(_ sequence: UInt64, lag: UInt64) -> FencedWriter.Answer {
        guard sequence <= last - min(lag, last) else { return .message(nil) }
        let message = messages[Int(sequence) - 1]
        return .message(StoredMessage(sequence, message.subject, headers: message.headers, body: message.body))
    }
}
