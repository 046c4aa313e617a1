import CNATS
import Glibc
import Synchronization

/// The answer to a request, which has come or will come.
package final class NATSReply: Sendable {
    /// Readable once ``take()`` no longer returns nil. A `ZMQPoller` or `poll(2)` can wait for it.
    package let fileDescriptor: CInt
    private let result = Mutex(Result<NATSMessage, NATSError>?.none)
    private let subject: String
    private let onRelease: @Sendable () -> Void

    /// - Parameters:
    ///   - subject: The subject of the request.
    ///   - onRelease: Called when the last reference to the reply is released, so that nobody waits any more.
    init(to subject: String, onRelease: @escaping @Sendable () -> Void) throws(NATSError) {
        (self.subject, self.onRelease) = (subject, onRelease)
        fileDescriptor = try makeEventDescriptor()
    }

    deinit {
        onRelease()
        close(fileDescriptor)
    }

    /// Only the first result counts.
    func end(_ new: Result<NATSMessage, NATSError>) {
        result.withLock { $0 = $0 ?? new }
        eventfd_write(fileDescriptor, 1)
    }

    func end(with message: NATSMessage) {
        // An empty message with the status 503 says that nobody subscribes to the subject (NATS, client protocol).
        let hasResponder = message.status != 503 || !message.body.isEmpty
        end(hasResponder ? .success(message) : .failure(.noResponders(subject: subject)))
    }

    /// The answer; nil if it has not come yet.
    ///
    /// - Throws: ``NATSError/noResponders(subject:)``, ``NATSError/connectionLost`` or ``NATSError/closed``.
    package func take() throws(NATSError) -> NATSMessage? { try result.withLock { $0 }?.get() }

    /// Blocks until the answer comes.
    ///
    /// - Throws: ``NATSError/timedOut(subject:limit:)`` if it does not come within `limit`, or an error of ``take()``.
    package func wait(atMost limit: Duration) throws(NATSError) -> NATSMessage {
        let end = ContinuousClock.now + limit
        while true {
            if let message = try take() { return message }
            let rest = ContinuousClock.now.duration(to: end)
            guard rest > .zero else { throw .timedOut(subject: subject, limit: limit) }
            var descriptor = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
            poll(&descriptor, 1, CInt(clamping: rest.wholeMilliseconds))
        }
    }
}

extension Duration {
    /// Rounded up, so that a short duration does not become 0. A negative duration is 0.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard self > .zero else { return 0 }
        guard seconds < Int64(Int32.max) else { return Int64(Int32.max) * 1000 }
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
