import PipelineRuntime
import TestSupport
import ZeroMQ

/// Connects the sockets of a simulation as ZeroMQ does. The messages of a connection arrive in order. If the connection
/// breaks, the last of them may be lost. Some frames are cut short. A reconnected client has a new identity at the
/// router.
final class SimulatedNetwork {
    struct Message {
        var due: Duration
        var connection: SimulatedConnection
        var frames: [[UInt8]]
    }

    let time: SimulatedTime
    let faults: FaultCounts
    var isFaulty = true
    private(set) var random: Seeded
    private var routers: [String: SimulatedRouter] = [:]
    private var dealers: [SimulatedDealer] = []
    private var connections: UInt64 = 0

    init(seed: UInt64, _ time: SimulatedTime, _ faults: FaultCounts) {
        random = Seeded(seed)
        self.time = time
        self.faults = faults
    }

    func bind(_ endpoint: String) -> SimulatedRouter {
        let router = SimulatedRouter(endpoint, self)
        routers[endpoint] = router
        return router
    }

    func dealer() -> SimulatedDealer {
        let dealer = SimulatedDealer(self)
        dealers.append(dealer)
        return dealer
    }

    /// Breaks some connections, and connects the clients that have no connection and are due to try.
    func update() {
        for dealer in dealers {
            if isFaulty, random.isOneIn(500), dealer.connection != nil {
                faults.note(.connectionLost)
                disconnect(dealer)
            }
            connect(dealer)
        }
    }

    private func connect(_ dealer: SimulatedDealer) {
        guard dealer.connection == nil, dealer.retryAt <= time.elapsed, let router = routers[dealer.lastEndpoint] else {
            return
        }
        connections += 1
        dealer.connection = SimulatedConnection(connections, router)
        router.dealers[connections] = dealer
    }

    func disconnect(_ dealer: SimulatedDealer) {
        guard let connection = dealer.connection else { return }
        dealer.connection = nil
        dealer.retryAt = time.elapsed + .milliseconds(1 + random.below(80))
        connection.router.dealers[connection.number] = nil
        lose(&connection.router.inbox, of: connection)
        lose(&dealer.inbox, of: connection)
    }

    /// Loses messages of the connection that have not arrived yet. A random number of the first ones still arrive.
    private func lose(_ inbox: inout [Message], of connection: SimulatedConnection) {
        let inFlight = inbox.indices.filter { inbox[$0].connection === connection && inbox[$0].due > time.elapsed }
        let lost = inFlight.dropFirst(random.below(inFlight.count + 1))
        for index in lost.reversed() { inbox.remove(at: index) }
        faults.note(.messagesLost, lost.count)
    }

    func close(_ router: SimulatedRouter) {
        guard routers[router.lastEndpoint] === router else { return }
        routers[router.lastEndpoint] = nil
        for number in router.dealers.keys.sorted() { router.dealers[number].map(disconnect) }
    }

    func close(_ dealer: SimulatedDealer) {
        disconnect(dealer)
        dealers.removeAll { $0 === dealer }
    }

    /// When a message that is sent now will arrive.
    ///
    /// - Parameter previous: When the previous message of the connection arrives. The result is not earlier.
    func arrival(notBefore previous: Duration) -> Duration {
        var delay = Duration.microseconds(random.below(3_000))
        if isFaulty, random.isOneIn(150) {
            faults.note(.slowMessage)
            delay = .milliseconds(50 + random.below(400))
        }
        return max(previous, time.elapsed + delay)
    }

    /// Shortens the last frame of some messages that have two frames, such as batches.
    func cut(_ frames: [[UInt8]]) -> [[UInt8]] {
        guard isFaulty, frames.count == 2, let body = frames.last, !body.isEmpty, random.isOneIn(120) else {
            return frames
        }
        faults.note(.frameCut)
        return [frames[0], Array(body.prefix(random.below(body.count)))]
    }
}

final class SimulatedConnection {
    let number: UInt64
    let router: SimulatedRouter
    var lastArrivalAtRouter = Duration.zero
    var lastArrivalAtDealer = Duration.zero

    init(_ number: UInt64, _ router: SimulatedRouter) {
        self.number = number
        self.router = router
    }

    var peer: [UInt8] { Array("peer \(number)".utf8) }
}

/// The socket that binds.
final class SimulatedRouter: MessageSocket {
    let lastEndpoint: String
    fileprivate(set) var inbox: [SimulatedNetwork.Message] = []
    fileprivate var dealers: [UInt64: SimulatedDealer] = [:]
    private let network: SimulatedNetwork

    fileprivate init(_ endpoint: String, _ network: SimulatedNetwork) {
        lastEndpoint = endpoint
        self.network = network
    }

    var hasInput: Bool { inbox.contains { $0.due <= network.time.elapsed } }

    func receive(into message: ZMQMultipart, wait: Bool) throws(ZMQError) -> ZMQReceiveResult {
        message.removeAll()
        var first: Int?
        for index in inbox.indices where inbox[index].due <= network.time.elapsed {
            if let best = first, inbox[best].due <= inbox[index].due { continue }
            first = index
        }
        guard let first else { return .empty }
        let found = inbox.remove(at: first)
        try message.append(found.connection.peer)
        for frame in found.frames { try message.append(frame) }
        return .received
    }

    func send(_ frames: [[UInt8]], wait: Bool) throws(ZMQError) -> ZMQSendResult {
        guard let dealer = dealers.values.first(where: { $0.connection?.peer == frames[0] }),
            let connection = dealer.connection
        else { return .unreachable }
        let due = network.arrival(notBefore: connection.lastArrivalAtDealer)
        connection.lastArrivalAtDealer = due
        dealer.inbox.append(
            SimulatedNetwork.Message(due: due, connection: connection, frames: network.cut(Array(frames.dropFirst()))))
        return .sent
    }

    func send(_ frames: [UnsafeRawBufferPointer], wait: Bool) throws(ZMQError) -> ZMQSendResult {
        try send(frames.map { Array($0) }, wait: wait)
    }

    func move(to endpoint: String) throws(ZMQError) {}
    func connect(_ endpoint: String) throws(ZMQError) {}
    func close() { network.close(self) }
    func add(to poller: ZMQPoller) -> Int { -1 }
}

/// The socket that connects.
final class SimulatedDealer: MessageSocket {
    private(set) var lastEndpoint = ""
    fileprivate(set) var inbox: [SimulatedNetwork.Message] = []
    fileprivate(set) var connection: SimulatedConnection?
    fileprivate var retryAt = Duration.zero
    private let network: SimulatedNetwork

    fileprivate init(_ network: SimulatedNetwork) { self.network = network }

    var hasInput: Bool { inbox.first.map { $0.due <= network.time.elapsed } ?? false }

    func move(to endpoint: String) throws(ZMQError) {}
    func connect(_ endpoint: String) throws(ZMQError) { lastEndpoint = endpoint }

    func send(_ frames: [[UInt8]], wait: Bool) throws(ZMQError) -> ZMQSendResult {
        guard let connection else { return .full }
        let due = network.arrival(notBefore: connection.lastArrivalAtRouter)
        connection.lastArrivalAtRouter = due
        connection.router.inbox.append(
            SimulatedNetwork.Message(due: due, connection: connection, frames: frames))
        return .sent
    }

    func send(_ frames: [UnsafeRawBufferPointer], wait: Bool) throws(ZMQError) -> ZMQSendResult {
        try send(frames.map { Array($0) }, wait: wait)
    }

    func receive(into message: ZMQMultipart, wait: Bool) throws(ZMQError) -> ZMQReceiveResult {
        message.removeAll()
        guard hasInput else { return .empty }
        for frame in inbox.removeFirst().frames { try message.append(frame) }
        return .received
    }

    func close() { network.close(self) }
    func add(to poller: ZMQPoller) -> Int { -1 }
}
