import Glibc
import PipelineKit
import ZeroMQ

/// Makes the ZeroMQ sockets of one host, on the host's own thread.
struct HostSockets: HostConnections {
    let plan: HostPlan
    let context: HostContext
    /// The socket for readers, if it is bound already.
    var server: ZMQSocket?

    private var options: ZMQSocketOptions { .link(linger: .milliseconds(500)) }

    func bindServer() throws -> any MessageSocket { try server ?? makeServer() }

    func makeServer() throws -> ZMQSocket {
        let socket = try ZMQSocket(context.zmq, .router, options)
        if let curve = plan.curve { try curve.secureServer(socket, for: .reading, context) }
        try bind(socket, plan.bind, key: "bind", as: plan.hosts?.own)
        return socket
    }

    func bindDoor() throws -> any MessageSocket {
        let socket = try ZMQSocket(context.zmq, .router, options.with { $0.receiveHighWaterMessages = 64 })
        if let curve = plan.curve { try curve.secureServer(socket, for: .producing, context) }
        try bind(socket, plan.door ?? plan.bind + ".door", key: "door", as: plan.hosts?.own)
        return socket
    }

    func bindPlugin() throws -> ZMQSocket {
        let socket = try ZMQSocket(context.zmq, .router, options)
        try bind(socket, plan.pluginEndpoint, key: "data")
        return socket
    }

    func connect(after: UInt64) throws -> any StageInlet {
        let socket = try ClientSocket(context, plan.curve?.toUpstream, options)
        let watch = try plan.upstreamWatch()
        let client = try LinkClient(
            socket, endpoint: plan.upstream ?? "", name: plan.stage, after: after, lane: plan.linkLane,
            monotonicNow: plan.time.monotonicNow)
        if let watch { client.currentEndpoint = { [hosts = plan.hosts] in hosts?.upstream(on: watch.owner()) } }
        return client
    }

    /// - Parameter host: This host, if no stage of this process serves an address yet; otherwise nil.
    private func bind(_ socket: ZMQSocket, _ endpoint: String, key: String, as host: HostSettings? = nil) throws {
        try SocketFiles.prepare(endpoint, plan.mode)
        // libzmq frees an endpoint some time after its socket was closed, so an earlier host of this process may still
        // hold it.
        let deadline = ContinuousClock.now + HostSockets.bindTimeout
        while true {
            do throws(ZMQError) { return try bindOnce(socket, endpoint) } catch {
                guard error.code == EADDRINUSE else { throw error }
                guard .now < deadline else { throw AddressError(key: key, inUse: endpoint, host: host?.name) }
                usleep(20_000)
            }
        }
    }

    private static let bindTimeout = Duration.milliseconds(500)

    /// Checks first whether another process serves the socket file, because libzmq would take the file from that
    /// process.
    private func bindOnce(_ socket: ZMQSocket, _ endpoint: String) throws(ZMQError) {
        guard !SocketFiles.isServed(endpoint) else {
            throw ZMQError(code: EADDRINUSE, operation: "bind", endpoint: endpoint)
        }
        try socket.bind(endpoint)
        SocketFiles.setMode(of: endpoint, to: plan.mode)
    }

    // MARK: Before a reload

    /// Checks whether a host with this plan could serve the addresses that the current host does not serve.
    func checkAddresses(beside current: HostPlan) throws {
        if plan.bind != current.bind { try check(plan.bind, key: "bind") }
        if let door = plan.door, door != current.door { try check(door, key: "door") }
    }

    private func check(_ endpoint: String, key: String) throws {
        do { try tryOut(endpoint, key: key) } catch let error as AddressError { throw error } catch {
            throw AddressError(key: key, reason: "\(error); choose another `\(key)`")
        }
    }

    private func tryOut(_ endpoint: String, key: String) throws {
        // An `ipc` endpoint is not bound as a test. Closing the test's socket would remove the file a moment later,
        // when it may belong to another socket.
        guard endpoint.hasPrefix("tcp://") else {
            try SocketFiles.prepare(endpoint, plan.mode)
            if SocketFiles.isServed(endpoint) { throw AddressError(key: key, inUse: endpoint) }
            return
        }
        let socket = try ZMQSocket(context.zmq, .router, options)
        defer { socket.close() }
        try bind(socket, endpoint, key: key)
    }
}
