import Glibc

/// A TCP connection without ZeroMQ.
enum PlainSocket {
    /// A port that is free at the moment.
    static func freePort() throws -> UInt16 {
        let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(file) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let found = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(file, $0, size) == 0 && getsockname(file, $0, &size) == 0
            }
        }
        guard found else { throw HostTestError("no free port: errno \(errno)") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Connects, writes as much as the other side accepts, and waits until the other side closes the connection.
    static func send(_ bytes: [UInt8], to endpoint: String) throws {
        let number = endpoint.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
        let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(file) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = number.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw HostTestError("cannot connect to \(endpoint): errno \(errno)") }
        _ = Glibc.send(file, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        shutdown(file, Int32(SHUT_WR))
        var answer = [UInt8](repeating: 0, count: 4096)
        while recv(file, &answer, answer.count, 0) > 0 {}
    }
}
