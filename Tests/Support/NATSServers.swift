import Foundation
import Glibc
import Synchronization
import Testing

/// One or several real `nats-server`s on free ports of this machine. Several servers form a cluster.
///
/// When this object is released, it ends its servers by their process IDs.
package final class NATSServers: Sendable {
    private struct Server {
        var process: Process?
        let port: ReservedPort
        let routePort: ReservedPort
    }

    private static let program = "/usr/sbin/nats-server"

    /// Whether the tests that need servers run.
    package static let areTested = access(program, X_OK) == 0
    package static let missing: Comment = "nats-server is missing: apt-get install nats-server"

    /// How long a test waits for a new leader. An election takes 4 to 9 seconds, and sometimes there are several.
    package static let electionMax = Duration.seconds(30)

    private let folder: Folder
    private let servers: Mutex<[Server]>
    private let configuration: Mutex<String>
    private let count: Int
    private let hasJetStream: Bool
    /// Such as `nats://127.0.0.1:4222`.
    package let addresses: [String]

    /// Starts the servers, and returns when all of them accept connections.
    ///
    /// - Parameters:
    ///   - hasJetStream: Whether the servers have JetStream.
    ///   - configuration: Lines for the configuration file of each server.
    package init(_ count: Int = 1, hasJetStream: Bool = true, configuration: String = "") throws {
        let servers = try (0..<count).map { _ in
            Server(port: try ReservedPort(forServer: true), routePort: try ReservedPort(forServer: true))
        }
        folder = try Folder()
        addresses = servers.map { "nats://127.0.0.1:\($0.port.number)" }
        self.servers = Mutex(servers)
        self.configuration = Mutex(configuration)
        (self.count, self.hasJetStream) = (count, hasJetStream)
        for index in 0..<count { try start(index) }
        for index in 0..<count { try waitUntilUp(index) }
    }

    deinit { for index in 0..<count { end(index, with: SIGKILL) } }

    package func port(_ index: Int) -> Int { servers.withLock { $0[index].port.number } }

    /// Starts a server, or starts it again on the same port and with the same data. Does not wait for it.
    package func start(_ index: Int) throws {
        let path = folder.file("n\(index + 1).conf")
        try folder.write(text(of: index), to: "n\(index + 1).conf")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: NATSServers.program)
        process.arguments = ["-c", path, "-l", folder.file("n\(index + 1).log")]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        Cost.spend(.processes)
        try process.run()
        servers.withLock { $0[index].process = process }
    }

    /// Waits until a server accepts connections.
    package func waitUntilUp(_ index: Int, atMost limit: Duration = .seconds(20)) throws {
        let end = ContinuousClock.now + limit
        while !isUp(index) {
            guard ContinuousClock.now < end else { throw NoServer(name: "n\(index + 1)", log: log(index)) }
            usleep(10_000)
        }
    }

    /// Ends a server with a signal, and waits until it has ended. Does nothing if it has ended already.
    /// Removes everything that a server has stored. The server must not run.
    package func wipe(_ index: Int) throws {
        try FileManager.default.removeItem(atPath: folder.file("data\(index + 1)"))
    }

    package func end(_ index: Int, with signal: CInt) {
        guard let process = servers.withLock({ servers in servers[index].process.take() }) else { return }
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
    }

    /// Stops a server and starts it with other lines in its configuration file.
    package func restart(_ index: Int, configuration lines: String) throws {
        end(index, with: SIGTERM)
        configuration.withLock { $0 = lines }
        try start(index)
        try waitUntilUp(index)
    }

    /// Sends SIGSTOP to a server, which then does nothing until ``resume(_:)``.
    package func pause(_ index: Int) { send(SIGSTOP, to: index) }
    package func resume(_ index: Int) { send(SIGCONT, to: index) }

    private func send(_ signal: CInt, to index: Int) {
        guard let process = servers.withLock({ $0[index].process }) else { return }
        kill(process.processIdentifier, signal)
    }

    /// The number of the server with this name, from 0.
    package static func index(of name: String) -> Int? { Int(name.dropFirst()).map { $0 - 1 } }

    private func isUp(_ index: Int) -> Bool {
        let socket = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port(index)).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private func text(of index: Int) -> String {
        let ports = servers.withLock { $0.map { ($0.port.number, $0.routePort.number) } }
        let routes = ports.map { "nats://127.0.0.1:\($0.1)" }.joined(separator: ", ")
        let cluster = "cluster { name: lab, listen: \"127.0.0.1:\(ports[index].1)\", routes: [\(routes)] }"
        let store = "jetstream { store_dir: \"\(folder.file("data\(index + 1)"))\", max_file_store: 2GB }"
        return """
            server_name: n\(index + 1)
            listen: "127.0.0.1:\(ports[index].0)"
            \(configuration.withLock { $0.contains("max_payload") } ? "" : "max_payload: 8MB")
            \(hasJetStream ? store : "")
            \(count > 1 ? cluster : "")
            \(configuration.withLock { $0 })

            """
    }

    private func log(_ index: Int) -> String {
        do { return try folder.lines(of: "n\(index + 1).log").suffix(5).joined(separator: "\n") } catch { return "" }
    }
}

private struct NoServer: Error, CustomStringConvertible {
    let name: String
    let log: String
    var description: String { "\(name) accepts no connection: \(log)" }
}
