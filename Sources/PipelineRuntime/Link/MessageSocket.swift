import ZeroMQ

/// What links and doors use of a socket, so that a simulation can put its own in its place.
package protocol MessageSocket: AnyObject {
    var lastEndpoint: String { get }

    func connect(_ endpoint: String) throws(ZMQError)
    func send(_ frames: [UnsafeRawBufferPointer], wait: Bool) throws(ZMQError) -> ZMQSendResult
    func send(_ frames: [[UInt8]], wait: Bool) throws(ZMQError) -> ZMQSendResult
    func receive(into message: ZMQMultipart, wait: Bool) throws(ZMQError) -> ZMQReceiveResult
    func close()

    /// Looks after a connection that does not come about; call it now and then while the other side is silent.
    ///
    /// - Returns: Why the other side does not let this one in; nil where that is not known.
    func checkConnection(at time: ContinuousClock.Instant) throws(ZMQError) -> ConnectionRefusal?

    /// - Returns: The item's index in the poller.
    func add(to poller: ZMQPoller) -> Int
}

extension MessageSocket {
    package func checkConnection(at time: ContinuousClock.Instant) throws(ZMQError) -> ConnectionRefusal? { nil }
}

extension ZMQSocket: MessageSocket {
    package func add(to poller: ZMQPoller) -> Int { poller.add(self, .readable) }
}

extension ZMQPoller {
    @discardableResult
    package func add(_ socket: any MessageSocket) -> Int { socket.add(to: self) }
}
