import Glibc
import JSON
import NATS

/// A pull consumer without acknowledgements on the servers, and the inbox into which it delivers.
final class StreamConsumer {
    struct Delivery {
        var messages: [StoredMessage] = []
        /// Whether the consumer is of no more use: the servers ended it or did not answer, or a message may be lost.
        var isConsumerLost = false
    }

    private let connection: NATSConnection
    private let requestSubject: String
    private let inboxSubject: String
    private let subscription: NATSSubscription
    private let stream: StreamName
    /// How many messages of the last request may still come.
    private var expected = 0
    /// When the servers end the last request.
    private var requestEnd = ContinuousClock.now
    /// ``NATS/NATSConnection/lostConnections`` when this consumer was made.
    private let lostConnections: Int

    /// How long the servers keep a consumer that nobody asks.
    private static let idleSecondsMax: Int64 = 60
    /// How long after the end of a request its last answer may come.
    private static let grace = Duration.seconds(2)

    /// - Parameter start: The sequence of the first message to deliver. If it was removed, the first one after it.
    init(_ jetStream: JetStream, _ stream: StreamName, from start: UInt64) throws(JetStreamError) {
        let name = try jetStream.call(
            "CONSUMER.CREATE", "read", stream, write: { StreamConsumer.write(stream, start, to: &$0) },
            read: { $0["name"]?.string })
        (self.stream, connection) = (stream, jetStream.connection)
        requestSubject = "$JS.API.CONSUMER.MSG.NEXT.\(stream).\(name)"
        inboxSubject = connection.makeInboxSubject()
        lostConnections = connection.lostConnections
        do throws(NATSError) { subscription = try connection.subscribe(inboxSubject) } catch {
            throw .unanswered(operation: "read", stream: stream.text, error)
        }
    }

    private static func write(_ stream: StreamName, _ start: UInt64, to buffer: inout ByteBuffer) {
        buffer.object { request in
            request.append("stream_name", stream.text)
            request.append(member: "config")
            request.object { config in
                config.append("deliver_policy", word: "by_start_sequence")
                config.append("opt_start_seq", start)
                config.append("ack_policy", word: "none")
                config.append("replay_policy", word: "instant")
                config.append("inactive_threshold", idleSecondsMax * 1_000_000_000)
                config.append("num_replicas", 1)
                config.append("mem_storage", true)
            }
        }
    }

    /// The messages that have come. Asks for more if no request is in progress, and waits for the first one.
    func receive(
        messages: Int, bytes: Int, until end: ContinuousClock.Instant
    ) throws(JetStreamError) -> Delivery {
        var waitEnd = end
        if expected == 0 {
            let isWaiting = ContinuousClock.now.duration(to: end) > .milliseconds(1)
            try ask(messages: messages, bytes: bytes, until: isWaiting ? end : nil)
            if !isWaiting { waitEnd = requestEnd + StreamConsumer.grace }
        }
        wait(until: waitEnd)
        var delivery = Delivery()
        for message in subscription.inbox.take() { accept(message, into: &delivery) }
        if isLost { delivery.isConsumerLost = true }
        return delivery
    }

    /// The servers end each request in time. If they did not, or if a message was lost, the consumer is of no more use.
    private var isLost: Bool {
        let isOverdue = expected > 0 && ContinuousClock.now > requestEnd + StreamConsumer.grace
        return isOverdue || connection.lostConnections != lostConnections || subscription.inbox.takeDropped() > 0
    }

    /// - Parameter end: When the servers stop waiting for messages. If nil, they do not wait.
    private func ask(messages: Int, bytes: Int, until end: ContinuousClock.Instant?) throws(JetStreamError) {
        let now = ContinuousClock.now
        requestEnd = end ?? now
        let body = ByteBuffer.object { request in
            request.append("batch", messages)
            request.append("max_bytes", bytes)
            request.append("expires", end.map { Int64(now.duration(to: $0) / .nanoseconds(1)) })
            if end == nil { request.append("no_wait", true) }
        }
        let request = NATSMessage(requestSubject, replySubject: inboxSubject, body: Array(body.bytes))
        do throws(NATSError) { try connection.publish(request) } catch {
            throw .unanswered(operation: "read", stream: stream.text, error)
        }
        expected = messages
    }

    /// Waits until the inbox has messages.
    private func wait(until end: ContinuousClock.Instant) {
        var descriptor = pollfd(fd: subscription.inbox.fileDescriptor, events: Int16(POLLIN), revents: 0)
        let rest = ContinuousClock.now.duration(to: end)
        poll(&descriptor, 1, rest > .zero ? CInt(clamping: Int64(rest / .milliseconds(1)) + 1) : 0)
    }

    private func accept(_ message: NATSMessage, into delivery: inout Delivery) {
        if let sequence = message.replySubject.flatMap(StreamConsumer.sequence) {
            expected = max(0, expected - 1)
            delivery.messages.append(
                StoredMessage(sequence, message.subject, headers: message.headers, body: message.body))
            return
        }
        // 100: a sign of life. 404: no message. 408: the request's time is over. 409 with this description: the next
        // message would exceed the request's bytes. Otherwise the consumer was deleted, its server stops, or nobody
        // answers (NATS, JetStream API, pull consumers).
        guard let status = message.status, status != 100 else { return }
        expected = 0
        let isFull = status == 409 && message.header("Description")?.contains("MaxBytes") == true
        if status != 404, status != 408, !isFull { delivery.isConsumerLost = true }
    }

    /// The sequence in a message's reply subject: `$JS.ACK.STREAM.CONSUMER.COUNT.SEQUENCE.…`, or with a domain and an
    /// account before the stream (nats-server, ADR-15).
    private static func sequence(_ replySubject: String) -> UInt64? {
        let words = replySubject.split(separator: ".")
        guard words.count >= 9, words[0] == "$JS", words[1] == "ACK" else { return nil }
        return UInt64(words[words.count == 9 ? 5 : 7])
    }
}
