import NATS

/// What is wrong with a stream, or with a request about it.
package enum JetStreamError: Error, Hashable, Sendable {
    /// ``StreamName`` does not allow this name.
    case invalidName(String)
    /// JetStream refused a request. `operation` is a verb for the request, such as `make`.
    case refused(operation: String, stream: String, JetStreamRefusal)
    /// No answer came, so the outcome of the request may be unknown.
    case unanswered(operation: String, stream: String, NATSError)
    /// The answer is malformed, so it may not come from JetStream.
    case unreadable(operation: String, stream: String, reason: String)
    /// The stream has no leader, so nobody knows where it ends.
    case withoutLeader(stream: String)
    /// The stream lacks a message between others.
    case gap(stream: String, sequence: UInt64)
    /// The message was removed with all messages before it. `first` is the stream's oldest message.
    case purged(stream: String, sequence: UInt64, first: UInt64)
    /// Another writer has stored the message at `sequence`. `by` is nil if the message names no writer, or was purged.
    case replaced(stream: String, sequence: UInt64, by: WriterName?)
    /// The stream has lost messages: it ends with `last`, although its servers had acknowledged `acknowledged`.
    case shortened(stream: String, acknowledged: UInt64, last: UInt64)
    /// The stream does not exist any more.
    case deleted(stream: String)
    /// The message at `sequence` names this writer, but has other bytes.
    case changed(stream: String, sequence: UInt64)
    /// The server acknowledged a message at another place than the writer had asked for.
    case misplaced(stream: String, expected: UInt64, found: UInt64)
    /// A message of the writer was stored in the stream `other` instead of the writer's stream.
    case elsewhere(stream: String, other: String)
    /// The writer was interrupted before it knew the outcome of a publish.
    case interrupted(stream: String, sequence: UInt64)
}

extension JetStreamError {
    /// Whether JetStream knows no stream of this name.
    package var isStreamNotFound: Bool {
        guard case .refused(_, _, let refusal) = self else { return false }
        return refusal.code == JetStreamRefusal.Code.streamNotFound
    }

    /// Whether the stream can be expected to answer again later, without a change by anyone.
    package var isTemporary: Bool {
        switch self {
        case .withoutLeader: true
        case .refused(_, _, let refusal): refusal.isNoQuorum
        case .unanswered(_, _, let error):
            switch error {
            case .notConnected, .connectionLost, .writeStalled, .timedOut, .noResponders: true
            default: false
            }
        default: false
        }
    }
}

extension JetStreamError: CustomStringConvertible {
    package var description: String { "JetStream: " + (hint.map { "\(problem); \($0)" } ?? problem) }

    private var problem: String {
        switch self {
        case .invalidName(let name):
            "'\(name.prefix(80).filter(JetStreamRefusal.isPrintable))' cannot be the name of a stream"
        case .refused(let operation, let stream, let refusal): "cannot \(operation) stream \(stream): \(refusal)"
        case .unanswered(let operation, let stream, let error): "cannot \(operation) stream \(stream): \(error)"
        case .unreadable(let operation, let stream, let reason):
            "the answer to '\(operation) stream \(stream)' is malformed: \(reason)"
        case .withoutLeader(let stream): "stream \(stream) has no leader"
        case .gap(let stream, let sequence): "stream \(stream) lacks message \(sequence), although it has later ones"
        case .purged(let stream, let sequence, let first):
            "message \(sequence) is no longer in stream \(stream), which begins with \(first)"
        case .replaced(let stream, let sequence, let writer):
            (writer.map { "writer \($0)" } ?? "an unknown writer")
                + " continued stream \(stream) with message \(sequence)"
        case .shortened(let stream, let acknowledged, let last):
            "stream \(stream) ends with message \(last), although its servers acknowledged \(acknowledged): "
                + "messages from \(last + 1) on are lost"
        case .deleted(let stream): "stream \(stream) was deleted"
        case .changed(let stream, let sequence):
            "message \(sequence) of stream \(stream) is not what this writer published"
        case .misplaced(let stream, let expected, let found):
            "the server stored a message of stream \(stream) as \(found) instead of \(expected)"
        case .elsewhere(let stream, let other): "stream \(other) stored a message for stream \(stream)"
        case .interrupted(let stream, let sequence):
            "the publish of message \(sequence) of stream \(stream) was interrupted before its outcome was known"
        }
    }

    private var hint: String? {
        switch self {
        case .invalidName: "use 1 to \(StreamName.bytesMax) characters of A-Z a-z 0-9 _ -"
        case .refused(_, _, let refusal): JetStreamError.hint(refusal)
        case .withoutLeader: "check that a majority of its servers run"
        case .unanswered(_, _, .noResponders):
            "check that a majority of the servers run, and enable JetStream in the servers' configuration"
        case .elsewhere(let stream, _), .misplaced(let stream, _, _):
            "check that no other stream has the subjects of stream \(stream)"
        default: nil
        }
    }

    private static func hint(_ refusal: JetStreamRefusal) -> String? {
        switch refusal.code {
        case JetStreamRefusal.Code.noPeers: "start more servers of the cluster, or ask for fewer replicas"
        case JetStreamRefusal.Code.replicasNotSupported: "connect to a cluster, or ask for one replica"
        case JetStreamRefusal.Code.notEnabled, JetStreamRefusal.Code.notEnabledForAccount:
            "enable JetStream in the servers' configuration"
        case _ where refusal.isDiskFull: "make room, or raise the limit of the stream, the account or the servers"
        case _ where refusal.isNoQuorum: "check that a majority of the servers run"
        default: nil
        }
    }
}
