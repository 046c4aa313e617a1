import Glibc
import PipelineKit

/// Asks a gateway for an answer over its port, as a client does.
package struct GatewayProbe: Sendable {
    private let host: String
    private let port: Int
    /// Whether the gateway speaks HTTPS.
    private let isEncrypted: Bool

    /// The gateway of this folder, at the address where it listens or last listened. Nil if the folder has no valid
    /// ``GatewayFile``.
    package init?(folder: String, _ settings: GatewaySettings) throws {
        guard let file = try GatewayFile(in: folder) else { return nil }
        // An address that stands for all addresses of the machine includes the loopback address.
        host = Self.loopback[file.host] ?? file.host
        (port, isEncrypted) = (file.port, settings.tls != nil)
    }

    /// The gateway of another host, at the address in the settings. Nil if this machine cannot reach the address, or if
    /// the gateway of another host could answer there.
    ///
    /// - Parameter isOnlyHost: Whether no other host may run a gateway.
    package init?(on other: HostSettings, _ settings: GatewaySettings, isOnlyHost: Bool) {
        let listen = settings.address
        let isForAll = Self.loopback[listen.host] != nil
        // Hosts whose own addresses are loopback addresses share this machine.
        let isReachable = !listen.isLoopback || Loopback.contains(other.address)
        guard listen.port != 0, isForAll || listen.host == other.address || isOnlyHost && isReachable else {
            return nil
        }
        host = isForAll ? other.address : listen.host
        (port, isEncrypted) = (listen.port, settings.tls != nil)
    }

    /// The loopback addresses for the addresses that stand for all addresses of a machine.
    private static let loopback = ["0.0.0.0": "127.0.0.1", "::": "::1"]

    /// `HOST:PORT`.
    package var address: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether the gateway answers. Blocks the thread.
    ///
    /// A gateway with a certificate refuses a request that is not encrypted. The refusal also shows that it works.
    ///
    /// - Parameter seconds: How long to wait for the connection, and then for the answer.
    package func answers(withinSeconds seconds: Int) -> Bool {
        var (hints, found) = (addrinfo(), nil as UnsafeMutablePointer<addrinfo>?)
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        guard getaddrinfo(host, "\(port)", &hints, &found) == 0 else { return false }
        defer { freeaddrinfo(found) }
        return sequence(first: found) { $0?.pointee.ai_next }.prefix { $0 != nil }
            .contains { $0.map { answers($0.pointee, seconds) } ?? false }
    }

    private func answers(_ address: addrinfo, _ seconds: Int) -> Bool {
        let connection = socket(address.ai_family, address.ai_socktype | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard connection >= 0 else { return false }
        defer { close(connection) }
        // The limit for sending also limits the wait for the connection. socket(7)
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            setsockopt(connection, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        let request = "GET \(OpenAPIDocument.path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        guard connect(connection, address.ai_addr, address.ai_addrlen) == 0,
            send(connection, request, request.utf8.count, CInt(MSG_NOSIGNAL)) == request.utf8.count
        else { return false }
        var bytes = [UInt8](repeating: 0, count: 12)
        let count = recv(connection, &bytes, bytes.count, CInt(MSG_WAITALL))
        return isEncrypted ? count >= 0 || errno == ECONNRESET : bytes.elementsEqual("HTTP/1.1 200".utf8)
    }
}
