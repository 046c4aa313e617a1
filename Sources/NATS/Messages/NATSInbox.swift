import CNATS
import Glibc
import Synchronization

/// The messages of a subscription that nobody has taken yet. A thread of libnats puts them in; any thread takes them.
package final class NATSInbox: Sendable {
    private struct Waiting: Sendable {
        var messages: [NATSMessage] = []
        var bytes = 0
        var dropped = 0
    }

    /// Readable while messages wait. A `ZMQPoller` or `poll(2)` can wait for it.
    package let fileDescriptor: CInt
    private let waiting = Mutex(Waiting())
    private let bytesMax: Int

    /// - Parameter bytesMax: The size of the bodies that may wait. A message for which there is no room is dropped and
    ///   counted; see ``takeDropped()``. An empty inbox has room for a message of any size.
    init(bytesMax: Int) throws(NATSError) {
        self.bytesMax = bytesMax
        fileDescriptor = try makeEventDescriptor()
    }

    deinit { close(fileDescriptor) }

    func put(_ message: NATSMessage) {
        waiting.withLock { waiting in
            guard waiting.bytes + message.body.count <= bytesMax || waiting.messages.isEmpty else {
                waiting.dropped += 1
                return
            }
            waiting.bytes += message.body.count
            waiting.messages.append(message)
        }
        eventfd_write(fileDescriptor, 1)
    }

    /// Removes and returns the messages that wait, in the order in which they came. Does not wait.
    package func take() -> [NATSMessage] {
        var wakes: eventfd_t = 0
        eventfd_read(fileDescriptor, &wakes)
        return waiting.withLock { waiting in
            defer { (waiting.messages, waiting.bytes) = ([], 0) }
            return waiting.messages
        }
    }

    /// The number of messages that were dropped since the last call.
    package func takeDropped() -> Int {
        waiting.withLock { waiting in
            defer { waiting.dropped = 0 }
            return waiting.dropped
        }
    }
}

/// An eventfd that is readable after a write, until it is read.
func makeEventDescriptor() throws(NATSError) -> CInt {
    let descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else {
        throw .failed(operation: "make event descriptor", reason: String(cString: strerror(errno)))
    }
    return descriptor
}
