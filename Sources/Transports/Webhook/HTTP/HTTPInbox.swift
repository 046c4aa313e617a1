import CCurl
import Glibc
import Synchronization

/// A request, and the task that waits for its result.
struct HTTPOrder: Sendable {
    let id: UInt64
    let request: HTTPRequest
    let end: CheckedContinuation<Result<HTTPAnswer, HTTPFailure>, Never>
}

/// Messages from any thread to the thread that drives the requests.
final class HTTPInbox: Sendable {
    struct Messages: Sendable {
        var orders: [HTTPOrder] = []
        /// The IDs of orders whose tasks were cancelled. Some of these orders may have ended already.
        var withdrawn: [UInt64] = []
        var isClosed = false
    }

    /// An eventfd that is readable when there are messages.
    let wakeDescriptor: CInt
    private let messages = Mutex(Messages())

    /// Nil if the process has no file descriptor left.
    init?() {
        wakeDescriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeDescriptor >= 0 else { return nil }
    }

    deinit { Glibc.close(wakeDescriptor) }

    /// - Returns: Whether the order was accepted. A closed inbox accepts no order.
    func add(_ order: HTTPOrder) -> Bool {
        let isOpen = messages.withLock { messages in
            if !messages.isClosed { messages.orders.append(order) }
            return !messages.isClosed
        }
        eventfd_write(wakeDescriptor, 1)
        return isOpen
    }

    func withdraw(_ id: UInt64) {
        messages.withLock { $0.withdrawn.append(id) }
        eventfd_write(wakeDescriptor, 1)
    }

    func close() {
        messages.withLock { $0.isClosed = true }
        eventfd_write(wakeDescriptor, 1)
    }

    /// Closes the inbox and ends its orders as cancelled, because no thread carries them out.
    func refuseAll() {
        close()
        for order in takeMessages().orders { order.end.resume(returning: .failure(.cancelled)) }
    }

    /// Removes and returns all messages since the last call, without waiting.
    func takeMessages() -> Messages {
        var wakes: eventfd_t = 0
        eventfd_read(wakeDescriptor, &wakes)
        return messages.withLock { messages in
            defer { messages = Messages(isClosed: messages.isClosed) }
            return messages
        }
    }
}
