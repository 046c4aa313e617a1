import ZeroMQ

/// The socket that links and doors use; a simulation has its own.
package protocol MessageSocket: AnyObject {
    var lastEndpoint: String { get }

    func connect(_ endpoint: String) throws(ZMQError)
    /// Ends the connection to the endpoint that ``connect(_:)`` was last called with, and connects to another one.
    func move(to endpoint: String) throws(ZMQError)
    func send(_ frames: [UnsafeRawBufferPointer], wait: Bool) throws(ZMQError) -> ZMQSendResult
    func send(_ frames: [[UInt8]], wait: Bool) throws(ZMQError) -> ZMQSendResult
    func receive(into message: ZMQMultipart, wait: Bool) throws(ZMQError) -> ZMQReceiveResult
    func close()

    /// Connects again if the other side has refused a connection. Must be called now and then. Returns why the other
    /// side refuses the connection, if known.
    func checkConnection(at time: ContinuousClock.Instant) throws(ZMQError) -> ConnectionRefusal?

    func add(to poller: ZMQPoller) -> Int
}

extension MessageSocket {
    package func checkConnection(at time: ContinuousClock.Instant) throws(ZMQError) -> ConnectionRefusal? { nil }
}

extension ZMQSocket: MessageSocket {
    package func move(to endpoint: String) throws(ZMQError) {
        try reopen()
        try connect(endpoint)
    }

    package func add(to poller: ZMQPoller) -> Int { poller.add(self, .readable) }
}

extension ZMQPoller {
    @discardableResult
    package func add(_ socket: any MessageSocket) -> Int { socket.add(to: self) }
}
