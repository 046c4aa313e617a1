import Glibc

/// A TCP port of this machine that no other program gets while this object lives.
///
/// Connections to it are refused while no server listens on it. By default no server can listen on it. If `forServer`
/// is true, a server with `SO_REUSEADDR` can.
package final class ReservedPort: Sendable {
    package let number: Int
    private let descriptor: Int32

    /// Some ports with numbers one after another.
    package static func row(of count: Int, forServer: Bool = false) throws -> [ReservedPort] {
        while true {
            let first = try ReservedPort(forServer: forServer)
            do {
                return [first] + (try (1..<count).map { try ReservedPort(first.number + $0, forServer: forServer) })
            } catch is NoPort {}
        }
    }

    /// - Parameter wanted: The port; 0 for any free port.
    package init(_ wanted: Int = 0, forServer: Bool = false) throws {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        descriptor = socket
        var canReuse: CInt = forServer ? 1 : 0
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &canReuse, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = in_port_t(truncatingIfNeeded: wanted).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 ? getsockname(socket, $0, &length) : -1
            }
        }
        guard status == 0 else { throw NoPort(errno: errno) }
        number = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}

private struct NoPort: Error { let errno: Int32 }
