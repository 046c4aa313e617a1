extension NATSConnection {
    /// Sends a request, and does not wait for the answer.
    ///
    /// - Returns: The place where the answer will come. If the caller releases it before, the answer is dropped.
    /// - Throws: As ``publish(_:)``.
    package func ask(_ message: NATSMessage) throws(NATSError) -> NATSReply {
        let (reply, replySubject) = try replies.add(message.subject)
        try publish(message, replySubject: replySubject)
        return reply
    }

    /// Sends a request and waits for the answer.
    ///
    /// - Throws: As ``publish(_:)`` and ``NATSReply/wait(atMost:)``.
    package func request(_ message: NATSMessage, atMost limit: Duration) throws(NATSError) -> NATSMessage {
        try ask(message).wait(atMost: limit)
    }

    /// Receives the messages of a subject into an inbox.
    ///
    /// - Parameters:
    ///   - subject: May have the wildcards `*` and `>`.
    ///   - bytesMax: The size of the bodies that may wait in the inbox. Further messages are dropped and counted.
    package func subscribe(_ subject: String, bytesMax: Int = 64 << 20) throws(NATSError) -> NATSSubscription {
        try NATSSubscription(self, subject, bytesMax: bytesMax)
    }

    /// A subject that no other client has, for answers that come as several messages.
    package func makeInboxSubject() -> String { Replies.newSubject() }

    /// What the server at the other end says about itself.
    ///
    /// - Throws: As ``ServerInfo/init(of:atMost:)``; ``NATSError/notConnected`` without a connection.
    package func serverInfo(atMost limit: Duration) throws(NATSError) -> ServerInfo {
        guard let server else { throw .notConnected }
        return try ServerInfo(of: server, atMost: limit)
    }
}

/// A subscription, which ends with its last reference.
package final class NATSSubscription: Sendable {
    package let inbox: NATSInbox
    private let connection: NATSConnection
    private let number: UInt64

    init(_ connection: NATSConnection, _ subject: String, bytesMax: Int) throws(NATSError) {
        let inbox = try NATSInbox(bytesMax: bytesMax)
        (self.inbox, self.connection) = (inbox, connection)
        number = try connection.addSubscription(subject) { inbox.put($0) }
    }

    deinit { connection.removeSubscription(number) }
}
