import Foundation
import Glibc
import Synchronization

/// A program between a client and a server on 127.0.0.1 that passes bytes on, and loses, delays or cuts them when a
/// test says so.
package final class TCPProxy: Sendable {
    package enum Direction: Sendable, Hashable { case toServer, toClient }

    package enum Action: Sendable, Hashable, CaseIterable {
        /// Ends the connection on both sides.
        case cut
        /// Loses all further bytes of the connection in this direction.
        case lose
        /// Keeps all further bytes of the connection in this direction until ``release()``. The server gets them even
        /// if the client has ended the connection.
        case hold
        /// Stops reading until ``release()``, and then loses all further bytes. See ``lostBytes``.
        case stall
    }

    package struct Fault: Sendable, Hashable {
        package var direction: Direction
        /// How many bytes in this direction pass before the fault.
        package var bytes: Int
        package var action: Action

        package init(_ direction: Direction, after bytes: Int, _ action: Action) {
            (self.direction, self.bytes, self.action) = (direction, bytes, action)
        }
    }

    private struct State {
        var fault: Fault?
        var isReleased = true
        var open: Set<CInt> = []
        var lostBytes: [UInt8] = []
        var isStopped = false
    }

    package let port: Int
    private let listener: CInt
    private let serverPort: Int
    private let state = Mutex(State())

    package init(to serverPort: Int) throws {
        self.serverPort = serverPort
        listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        port = try listener.listenOnFreePort()
        Thread.detachNewThread { [self] in accept() }
    }

    /// Ends all connections and accepts no more.
    package func stop() {
        shutdown(listener, CInt(SHUT_RDWR))
        state.withLock { state in
            (state.isStopped, state.isReleased) = (true, true)
            for socket in state.open { shutdown(socket, CInt(SHUT_RDWR)) }
        }
    }

    /// Lets a fault happen once, on the connection that carries the next bytes in the fault's direction.
    package func arm(_ fault: Fault) { state.withLock { ($0.fault, $0.isReleased) = (fault, false) } }

    /// Whether the fault that was armed last has happened.
    package var hasHappened: Bool { state.withLock { $0.fault == nil } }

    package func disarm() { state.withLock { $0.fault = nil } }

    /// Lets go of what ``Action/hold`` keeps and ``Action/stall`` does not read.
    package func release() { state.withLock { $0.isReleased = true } }

    /// What ``Action/lose`` and ``Action/stall`` have lost.
    package var lostBytes: [UInt8] { state.withLock { $0.lostBytes } }

    // MARK: Connections

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { break }
            let server = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard server.connectTo(serverPort), isOpened([client, server]) else {
                close(client)
                close(server)
                continue
            }
            let connection = Connection(client: client, server: server) { [self] in
                state.withLock { state in for socket in [client, server] { state.open.remove(socket) } }
            }
            Thread.detachNewThread { [self] in pass(.toServer, of: connection) }
            Thread.detachNewThread { [self] in pass(.toClient, of: connection) }
        }
        close(listener)
    }

    /// Notes the sockets of a new connection.
    private func isOpened(_ sockets: [CInt]) -> Bool {
        for socket in sockets { socket.sendWithoutDelay() }
        return state.withLock { state in
            if !state.isStopped { state.open.formUnion(sockets) }
            return !state.isStopped
        }
    }

    /// Passes bytes on until one side ends the connection.
    private func pass(_ direction: Direction, of connection: Connection) {
        var block = [UInt8](repeating: 0, count: 64 << 10)
        let (source, target) = connection.ends(direction)
        var action: Action?
        while case let count = recv(source, &block, block.count, 0), count > 0 {
            var rest = block[..<count]
            if action == nil, let fault = takeFault(direction, count) {
                target.sendAll(rest.prefix(fault.bytes))
                rest = rest.dropFirst(fault.bytes)
                action = fault.action
                if action == .cut { connection.cut() }
                if action == .stall { waitForRelease() }
            }
            switch action {
            case nil: target.sendAll(rest)
            case .cut: break
            case .hold: connection.hold(rest, direction)
            case .lose, .stall: state.withLock { $0.lostBytes += rest }
            }
            if action == .hold, isReleased { target.sendAll(connection.takeHeld(direction)) }
        }
        if action == .hold {
            waitForRelease()
            target.sendAll(connection.takeHeld(direction))
        }
        connection.end(direction)
    }

    /// The armed fault, if these bytes reach it. Its count is that of the bytes among them that pass.
    private func takeFault(_ direction: Direction, _ count: Int) -> Fault? {
        state.withLock { state in
            guard let fault = state.fault, fault.direction == direction else { return nil }
            state.fault?.bytes -= count
            guard fault.bytes <= count else { return nil }
            state.fault = nil
            return fault
        }
    }

    private var isReleased: Bool { state.withLock { $0.isReleased } }
    private func waitForRelease() { while !isReleased { usleep(500) } }
}

/// The two sockets of a connection through the proxy.
private final class Connection: Sendable {
    private let client: CInt
    private let server: CInt
    private let onEnd: @Sendable () -> Void
    private let held = Mutex<[TCPProxy.Direction: [UInt8]]>([:])
    private let open = Mutex(2)

    init(client: CInt, server: CInt, onEnd: @escaping @Sendable () -> Void) {
        (self.client, self.server, self.onEnd) = (client, server, onEnd)
    }

    func ends(_ direction: TCPProxy.Direction) -> (source: CInt, target: CInt) {
        direction == .toServer ? (client, server) : (server, client)
    }

    func hold(_ bytes: ArraySlice<UInt8>, _ direction: TCPProxy.Direction) {
        held.withLock { $0[direction, default: []] += bytes }
    }

    func takeHeld(_ direction: TCPProxy.Direction) -> ArraySlice<UInt8> {
        held.withLock { $0.removeValue(forKey: direction) ?? [] }[...]
    }

    func cut() { for socket in [client, server] { shutdown(socket, CInt(SHUT_RDWR)) } }

    /// Tells the target that no more bytes come. The second call closes the sockets.
    func end(_ direction: TCPProxy.Direction) {
        shutdown(ends(direction).target, CInt(SHUT_WR))
        let left = open.withLock { open in
            open -= 1
            return open
        }
        guard left == 0 else { return }
        onEnd()
        close(client)
        close(server)
    }
}

extension CInt {
    /// Listens on a free port of 127.0.0.1.
    fileprivate func listenOnFreePort() throws -> Int {
        var address = sockaddr_in.loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(self, $0, length) == 0 && listen(self, 64) == 0 && getsockname(self, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EADDRINUSE) }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    fileprivate func connectTo(_ port: Int) -> Bool {
        withUnsafePointer(to: sockaddr_in.loopback(port)) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    fileprivate func sendWithoutDelay() {
        var isOn: CInt = 1
        setsockopt(self, CInt(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Sends all bytes, or as many as the other side takes before it ends the connection.
    fileprivate func sendAll(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(self, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

extension sockaddr_in {
    fileprivate static func loopback(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }
}
