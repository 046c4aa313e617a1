import JSON
import NATS

/// Requests about the streams of a NATS cluster, or of a single server.
///
/// The calls block their thread. Any thread may use the value.
package struct JetStream: Sendable {
    package let connection: NATSConnection
    /// How long a request waits for its answer.
    package var answerTimeout: Duration

    package init(_ connection: NATSConnection, answerTimeout: Duration = .seconds(5)) {
        (self.connection, self.answerTimeout) = (connection, answerTimeout)
    }

    /// Makes a stream. If the same stream exists already, the call only returns its state.
    ///
    /// - Throws: ``JetStreamError/refused(operation:stream:_:)`` for example if a stream with the same name has other
    ///   settings, if another stream has one of the subjects, or if there are too few servers.
    @discardableResult
    package func create(_ settings: StreamSettings) throws(JetStreamError) -> StreamInfo {
        try call("STREAM.CREATE", "make", settings.name, write: settings.write, read: { StreamInfo($0) })
    }

    /// Changes the limits, the replicas or the note of a stream.
    @discardableResult
    package func update(_ settings: StreamSettings) throws(JetStreamError) -> StreamInfo {
        try call("STREAM.UPDATE", "change", settings.name, write: settings.write, read: { StreamInfo($0) })
    }

    /// Removes a stream with all its messages.
    package func delete(_ stream: StreamName) throws(JetStreamError) {
        try call("STREAM.DELETE", "delete", stream, read: JetStream.success)
    }

    /// The settings and the state of a stream.
    ///
    /// - Throws: ``JetStreamError/withoutLeader(stream:)`` if the answer does not come from the stream's leader. Other
    ///   servers do not know where the stream ends.
    package func info(_ stream: StreamName) throws(JetStreamError) -> StreamInfo {
        let info = try anyInfo(stream)
        guard info.isFromLeader else { throw .withoutLeader(stream: stream.text) }
        return info
    }

    /// Like ``info(_:)``, but the answer may come from a server that lacks the newest messages.
    package func anyInfo(_ stream: StreamName) throws(JetStreamError) -> StreamInfo {
        try call("STREAM.INFO", "look up", stream, read: { StreamInfo($0) })
    }

    /// Removes all messages before the given one.
    ///
    /// - Returns: The number of messages that were removed.
    @discardableResult
    package func purge(_ stream: StreamName, before sequence: UInt64) throws(JetStreamError) -> UInt64 {
        // The servers take a request with the sequence 0 or 1 as one to remove all messages.
        guard sequence > 1 else { return 0 }
        return try call(
            "STREAM.PURGE", "purge", stream, write: { JetStream.write(sequence, to: &$0) },
            read: { $0["purged"]?.uint64 })
    }

    /// A message, as the stream's leader has it; nil if the leader has no message with this sequence.
    package func message(_ sequence: UInt64, of stream: StreamName) throws(JetStreamError) -> StoredMessage? {
        try message(of: stream) { JetStream.write(sequence, to: &$0) }
    }

    /// The last message with a subject, as the stream's leader has it; nil if the leader has none.
    package func lastMessage(
        on subject: String, of stream: StreamName
    ) throws(JetStreamError) -> StoredMessage? {
        try message(of: stream) { request in request.object { $0.append("last_by_subj", subject) } }
    }

    private func message(
        of stream: StreamName, _ write: (inout ByteBuffer) -> Void
    ) throws(JetStreamError) -> StoredMessage? {
        do throws(JetStreamError) {
            return try call(
                "STREAM.MSG.GET", "read", stream, write: write, read: { $0["message"].flatMap { StoredMessage($0) } })
        } catch {
            if case .refused(_, _, let refusal) = error, refusal.code == JetStreamRefusal.Code.noMessage { return nil }
            throw error
        }
    }

    /// Makes the stream's leader step down, so that another server is elected. For tests.
    package func stepDown(_ stream: StreamName) throws(JetStreamError) {
        try call("STREAM.LEADER.STEPDOWN", "change the leader of", stream, read: JetStream.success)
    }

    private static func write(_ sequence: UInt64, to buffer: inout ByteBuffer) {
        buffer.object { $0.append("seq", sequence) }
    }

    private static func success(_ answer: JSONValue) -> Void? { answer["success"]?.bool == true ? () : nil }
}

extension JetStream {
    /// A message of 8 MB in Base64, and the rest of the answer.
    private static let answerBytesMax = 16 << 20

    /// Asks JetStream.
    ///
    /// - Parameters:
    ///   - request: The subject of the request without `$JS.API.` and the stream's name.
    ///   - operation: The request as a verb, for errors.
    ///   - write: Writes the request's body.
    ///   - read: Reads the answer, which has no error. Nil if the answer is malformed.
    func call<Answer>(
        _ request: String, _ operation: String, _ stream: StreamName,
        write: (inout ByteBuffer) -> Void = { _ in }, read: (JSONValue) -> Answer?
    ) throws(JetStreamError) -> Answer {
        var body = ByteBuffer()
        write(&body)
        let message = NATSMessage("$JS.API.\(request).\(stream)", body: Array(body.bytes))
        return try ask(message, operation, stream, read)
    }

    /// Sends a message and reads JetStream's answer.
    func ask<Answer>(
        _ message: NATSMessage, _ operation: String, _ stream: StreamName, _ read: (JSONValue) -> Answer?
    ) throws(JetStreamError) -> Answer {
        let answer: NATSMessage
        do throws(NATSError) { answer = try connection.request(message, atMost: answerTimeout) } catch {
            throw .unanswered(operation: operation, stream: stream.text, error)
        }
        return try JetStream.read(answer, operation, stream, read)
    }

    private static func read<Answer>(
        _ answer: NATSMessage, _ operation: String, _ stream: StreamName, _ read: (JSONValue) -> Answer?
    ) throws(JetStreamError) -> Answer {
        var parser = JSONParser(limits: JSONLimits(bytesMax: answerBytesMax))
        return try answer.body.withUnsafeBufferPointer { bytes throws(JetStreamError) in
            let json: JSONValue
            do throws(JSONError) { json = try parser.parse(UnsafeRawBufferPointer(bytes)) } catch {
                throw .unreadable(operation: operation, stream: stream.text, reason: "\(error)")
            }
            if let refusal = JetStreamRefusal(in: json) {
                throw .refused(operation: operation, stream: stream.text, refusal)
            }
            guard let result = read(json) else {
                throw .unreadable(operation: operation, stream: stream.text, reason: "a part is missing")
            }
            return result
        }
    }
}
