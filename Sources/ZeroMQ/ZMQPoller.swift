import CZeroMQ
import Glibc

/// The events for which a ``ZMQPoller`` waits at one of its items, or the events that a poll found at the item.
package struct ZMQReadiness: OptionSet, Sendable {
    package let rawValue: Int16
    package init(rawValue: Int16) { self.rawValue = rawValue }

    package static let readable = ZMQReadiness(rawValue: Int16(ZMQ_POLLIN))
    package static let writable = ZMQReadiness(rawValue: Int16(ZMQ_POLLOUT))
    /// Found on file descriptors only: the other end is gone or the descriptor is not open.
    package static let failed = ZMQReadiness(rawValue: Int16(ZMQ_POLLERR))
}

/// Waits until at least one of its items is ready. An item is a socket or a file descriptor. Items can be added, but
/// not removed.
///
/// An item keeps the index that `add` returned. Polling again with the same items allocates nothing, up to 16
/// items (ZMQ_POLLITEMS_DFLT). Like a socket, a poller belongs to one thread.
@safe package final class ZMQPoller {
    private var items: [zmq_pollitem_t] = unsafe []
    // The socket of each item, at the item's index; nil for a file descriptor. Each poll asks the sockets for
    // their handles again, because the handle of a closed socket must not be used.
    private var sockets: [ZMQSocket?] = []
    private var wakes: [WakeSignal] = []

    package init() {}

    /// - Returns: The item's index.
    @discardableResult
    package func add(_ socket: ZMQSocket, _ interest: ZMQReadiness = .readable) -> Int {
        add(socket: socket, fileDescriptor: 0, interest)
    }

    /// - Parameter fileDescriptor: Must stay open while it is polled; a closed descriptor gives
    ///   ``ZMQReadiness/failed``.
    @discardableResult
    package func add(fileDescriptor: Int32, _ interest: ZMQReadiness = .readable) -> Int {
        add(socket: nil, fileDescriptor: fileDescriptor, interest)
    }

    /// Adds the signal's descriptor and keeps the signal alive.
    @discardableResult
    package func add(_ wake: WakeSignal) -> Int {
        wakes.append(wake)
        return add(fileDescriptor: wake.fileDescriptor)
    }

    /// Changes what the poller waits for at an item; an empty set pauses the item.
    package func setInterest(_ interest: ZMQReadiness, at index: Int) {
        unsafe items[index].events = interest.rawValue
    }

    /// The events that the last poll found at the item with this index.
    package func readiness(at index: Int) -> ZMQReadiness {
        unsafe ZMQReadiness(rawValue: items[index].revents)
    }

    /// Waits until an item is ready or the timeout has passed. A POSIX signal (`EINTR`) does not end the wait.
    ///
    /// - Parameter timeoutMilliseconds: -1 waits without limit, 0 does not wait.
    /// - Returns: How many items are ready; see ``readiness(at:)``.
    /// - Throws: `ETERM` after the context's shutdown, `ENOTSOCK` for a closed socket, `EINVAL` for no items.
    package func poll(timeoutMilliseconds: Int = -1) throws(ZMQError) -> Int {
        try refreshHandles()
        let start = timeoutMilliseconds > 0 ? ContinuousClock.now : nil
        var remaining = timeoutMilliseconds
        while true {
            let count = unsafe zmq_poll(&items, Int32(items.count), min(max(remaining, -1), Int(Int32.max)))
            if count >= 0 { return Int(count) }
            let code = zmq_errno()
            guard code == EINTR else { throw ZMQError(code: code, operation: "poll") }
            if let start { remaining = max(0, timeoutMilliseconds - start.duration(to: .now).wholeMilliseconds) }
        }
    }

    private func add(socket: ZMQSocket?, fileDescriptor: Int32, _ interest: ZMQReadiness) -> Int {
        unsafe items.append(
            zmq_pollitem_t(socket: socket?.handle, fd: fileDescriptor, events: interest.rawValue, revents: 0))
        sockets.append(socket)
        return unsafe items.count - 1
    }

    private func refreshHandles() throws(ZMQError) {
        guard unsafe !items.isEmpty else {
            throw ZMQError(code: EINVAL, operation: "poll", detail: "the poller has no sockets and no file descriptors")
        }
        for index in sockets.indices {
            unsafe items[index].revents = 0
            guard let socket = sockets[index] else { continue }
            unsafe items[index].socket = try socket.openHandle("poll")
        }
    }
}

@available(*, unavailable, message: "a poller belongs to one thread, like its sockets")
extension ZMQPoller: Sendable {}
