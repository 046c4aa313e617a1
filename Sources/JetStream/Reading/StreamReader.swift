import Glibc
import JSON
import NATS

/// Reads the messages of a stream in order, without gaps.
///
/// A reader belongs to one thread. It reads by means of a consumer on the servers, in which nothing is acknowledged. If
/// the consumer is lost, for example with its server, the reader makes another one that continues at ``next``.
package final class StreamReader {
    /// The sequence of the next message.
    package private(set) var next: UInt64
    package let stream: StreamName
    private let jetStream: JetStream
    private var consumer: StreamConsumer?

    /// The most messages, and bytes, that one request to the servers asks for. A message has at most 8 MB.
    private static let batchMessages = 500
    private static let batchBytes = 16 << 20

    /// - Parameter start: The sequence of the first message to read, from 1.
    package init(_ jetStream: JetStream, _ stream: StreamName, from start: UInt64) {
        precondition(start > 0, "the sequence of the first message is 0; sequences begin with 1")
        (self.jetStream, self.stream, next) = (jetStream, stream, start)
    }

    /// Reads the next messages.
    ///
    /// - Parameter limit: How long to wait for a message if the stream has no further message yet.
    /// - Returns: The messages that came, in order and without gaps. Empty if none came in time, or if the consumer was
    ///   lost; then the next call reads on with a new one.
    /// - Throws: ``JetStreamError/purged(stream:sequence:first:)`` if the next message was removed,
    ///   ``JetStreamError/gap(stream:sequence:)`` if it is missing, or why the servers do not answer. The reader can
    ///   continue after an error whose ``JetStreamError/isTemporary`` is true.
    package func read(atMost limit: Duration) throws(JetStreamError) -> [StoredMessage] {
        let end = ContinuousClock.now + limit
        let consumer = try openConsumer()
        while true {
            let delivery = try consumer.receive(
                messages: StreamReader.batchMessages, bytes: StreamReader.batchBytes, until: end)
            if delivery.isConsumerLost { self.consumer = nil }
            let messages = try inOrder(delivery.messages)
            if !messages.isEmpty || self.consumer == nil || ContinuousClock.now >= end { return messages }
        }
    }

    private func openConsumer() throws(JetStreamError) -> StreamConsumer {
        if let consumer { return consumer }
        let new = try StreamConsumer(jetStream, stream, from: next)
        consumer = new
        return new
    }

    /// The messages from ``next`` on, without a gap. A repeated message is left out.
    private func inOrder(_ delivered: [StoredMessage]) throws(JetStreamError) -> [StoredMessage] {
        var messages: [StoredMessage] = []
        for message in delivered where message.sequence >= next {
            guard message.sequence == next else {
                consumer = nil
                if messages.isEmpty { try throwIfStreamLacksNext() }
                break
            }
            messages.append(message)
            next += 1
        }
        return messages
    }

    /// If the stream has the message that did not come, the message was lost on the way: servers send messages once,
    /// and a connection that ends loses them. The next consumer delivers it.
    private func throwIfStreamLacksNext() throws(JetStreamError) {
        let info = try jetStream.info(stream)
        guard info.first <= next else { throw .purged(stream: stream.text, sequence: next, first: info.first) }
        if try jetStream.message(next, of: stream) == nil { throw .gap(stream: stream.text, sequence: next) }
    }
}
