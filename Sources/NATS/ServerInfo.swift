import Foundation
import Glibc
import JSON

/// What a server tells everyone who opens a connection to it (NATS, protocol, INFO).
package struct ServerInfo: Hashable, Sendable {
    /// The name in the server's configuration.
    package let name: String
    /// Such as 2.10.29.
    package let version: String
    /// The largest ``NATSMessage/payloadBytes`` of a message.
    package let payloadBytesMax: Int
    /// Whether JetStream is enabled in the server's configuration.
    package let hasJetStream: Bool
    /// The name of the server's cluster; nil if the server stands alone.
    package let cluster: String?

    /// libnats reads at most this many bytes of an INFO.
    private static let lineBytesMax = 32 << 10

    /// Opens a connection of its own to the server, because libnats does not pass on what a server says about itself.
    /// The server speaks first, before TLS and credentials.
    ///
    /// - Throws: ``NATSError/unreachable(servers:reason:)``, or ``NATSError/notAServer(_:reason:)``.
    package init(of server: ServerAddress, atMost limit: Duration) throws(NATSError) {
        let socket = try LineSocket(server, atMost: limit)
        let line = try socket.line(bytesMax: ServerInfo.lineBytesMax)
        let keyword = Array("INFO ".utf8)
        guard line.starts(with: keyword) else {
            throw .notAServer(server, reason: "its first line does not begin with INFO")
        }
        do throws(JSONError) { self = try ServerInfo(json: Array(line.dropFirst(keyword.count))) } catch {
            throw .notAServer(server, reason: "its first line is not JSON: \(error)")
        }
    }

    private init(json: [UInt8]) throws(JSONError) {
        var parser = JSONParser()
        self = try json.withUnsafeBufferPointer { bytes throws(JSONError) in
            ServerInfo(try parser.parse(UnsafeRawBufferPointer(bytes)))
        }
    }

    private init(_ info: JSONValue) {
        name = info["server_name"]?.string ?? info["server_id"]?.string ?? ""
        version = info["version"]?.string ?? ""
        payloadBytesMax = Int(info["max_payload"]?.int64 ?? 0)
        hasJetStream = info["jetstream"]?.bool ?? false
        cluster = info["cluster"]?.string
    }

    /// Whether the server's version is at least `major.minor.patch`. A suffix such as `-beta.1` is ignored.
    package func isAtLeast(_ major: Int, _ minor: Int, _ patch: Int) -> Bool {
        let parts = version.prefix { $0.isNumber || $0 == "." }.split(separator: ".").map { Int($0) ?? 0 }
        return !parts.lexicographicallyPrecedes([major, minor, patch])
    }
}

/// A TCP connection from which one line is read.
private final class LineSocket {
    private let descriptor: CInt
    private let server: ServerAddress
    private let end: ContinuousClock.Instant

    init(_ server: ServerAddress, atMost limit: Duration) throws(NATSError) {
        self.server = server
        end = .now + limit
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(server.host, "\(server.port)", &hints, &found)
        guard code == 0, let found else {
            throw .unreachable(servers: [server], reason: String(cString: gai_strerror(code)))
        }
        defer { freeaddrinfo(found) }
        descriptor = try LineSocket.connect(found.pointee, server, end)
    }

    deinit { close(descriptor) }

    private static func connect(
        _ address: addrinfo, _ server: ServerAddress, _ end: ContinuousClock.Instant
    ) throws(NATSError) -> CInt {
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.ai_family, type, 0)
        let isBegun =
            descriptor >= 0
            && (Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 || errno == EINPROGRESS)
        let code = errno
        guard isBegun, wait(descriptor, POLLOUT, until: end) else {
            if descriptor >= 0 { close(descriptor) }
            let reason = isBegun ? "no answer" : String(cString: strerror(code))
            throw .unreachable(servers: [server], reason: reason)
        }
        return descriptor
    }

    private static func wait(_ descriptor: CInt, _ event: CInt, until end: ContinuousClock.Instant) -> Bool {
        let rest = ContinuousClock.now.duration(to: end).wholeMilliseconds
        var polled = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&polled, 1, CInt(clamping: rest)) > 0
    }

    /// - Returns: The first line, without the line feed.
    func line(bytesMax: Int) throws(NATSError) -> [UInt8] {
        var (line, block) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while line.count < bytesMax {
            guard LineSocket.wait(descriptor, POLLIN, until: end) else {
                throw .unreachable(servers: [server], reason: "it sends nothing")
            }
            let count = recv(descriptor, &block, block.count, 0)
            guard count > 0 else {
                let reason = count == 0 ? "it ended the connection" : String(cString: strerror(errno))
                throw .unreachable(servers: [server], reason: reason)
            }
            line += block[..<count]
            if let lineEnd = line.firstIndex(of: UInt8(ascii: "\n")) { return Array(line[..<lineEnd]) }
        }
        throw .notAServer(server, reason: "its first line has more than \(bytesMax) bytes")
    }
}
