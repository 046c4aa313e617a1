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
    struct Mail: Sendable {
        var orders: [HTTPOrder] = []
        /// Orders whose task was cancelled. Some may have ended already.
        var withdrawn: [UInt64] = []
        var isClosed = false
    }

    /// An eventfd that is readable when there is mail.
    let bell: CInt
    private let mail = Mutex(Mail())

    /// Nil if the process has no file descriptor left.
    init?() {
        bell = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard bell >= 0 else { return nil }
    }

    deinit { Glibc.close(bell) }

    /// - Returns: Whether the order was accepted. A closed inbox accepts no order.
    func add(_ order: HTTPOrder) -> Bool {
        let isOpen = mail.withLock { mail in
            if !mail.isClosed { mail.orders.append(order) }
            return !mail.isClosed
        }
        eventfd_write(bell, 1)
        return isOpen
    }

    func withdraw(_ id: UInt64) {
        mail.withLock { $0.withdrawn.append(id) }
        eventfd_write(bell, 1)
    }

    func close() {
        mail.withLock { $0.isClosed = true }
        eventfd_write(bell, 1)
    }

    /// Closes the inbox and ends its orders as cancelled, because no thread carries them out.
    func refuseAll() {
        close()
        for order in take().orders { order.end.resume(returning: .failure(.cancelled)) }
    }

    /// Takes all mail since the last call, without waiting.
    func take() -> Mail {
        var rings: eventfd_t = 0
        eventfd_read(bell, &rings)
        return mail.withLock { mail in
            defer { mail = Mail(isClosed: mail.isClosed) }
            return mail
        }
    }
}
