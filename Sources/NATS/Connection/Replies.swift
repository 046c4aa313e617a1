import Synchronization

/// The requests that wait for an answer. One subscription receives the answers to all of them.
final class Replies: Sendable {
    private struct Waiting {
        weak var reply: NATSReply?
    }

    private let waiting = Mutex<[UInt64: Waiting]>([:])
    private let last = Atomic<UInt64>(0)
    /// A prefix that no other client has. It ends with a dot.
    private let prefix: String

    init() {
        prefix = Replies.newSubject() + "."
    }

    /// A subject that no other client has.
    static func newSubject() -> String {
        var generator = SystemRandomNumberGenerator()
        return "_INBOX." + String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
    }

    /// The subject of the subscription.
    var subject: String { prefix + "*" }

    /// Registers a request.
    ///
    /// - Parameter subject: The subject of the request, for errors.
    func add(_ subject: String) throws(NATSError) -> (reply: NATSReply, replySubject: String) {
        let number = last.wrappingAdd(1, ordering: .relaxed).newValue
        let reply = try NATSReply(to: subject) { [weak self] in self?.remove(number) }
        waiting.withLock { $0[number] = Waiting(reply: reply) }
        return (reply, prefix + String(number, radix: 36))
    }

    private func remove(_ number: UInt64) { waiting.withLock { $0[number] = nil } }

    /// Ends the request that the message answers. A message for a request that nobody waits for is dropped.
    func receive(_ message: NATSMessage) {
        guard let number = UInt64(message.subject.dropFirst(prefix.count), radix: 36) else { return }
        waiting.withLock { $0[number]?.reply }?.end(with: message)
    }

    /// Ends all requests.
    func endAll(_ error: NATSError) {
        let replies = waiting.withLock { $0.values.compactMap(\.reply) }
        for reply in replies { reply.end(.failure(error)) }
    }
}
