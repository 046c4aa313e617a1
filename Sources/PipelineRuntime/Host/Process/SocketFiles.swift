import EventLog
import Glibc

/// The socket files behind `ipc://` endpoints.
package enum SocketFiles {
    /// Makes the folder of an `ipc://` endpoint's file.
    static func prepare(_ endpoint: String, _ mode: DataMode) throws {
        guard let path = path(of: endpoint), let slash = path.lastIndex(of: "/") else { return }
        try makeFolder(String(path[..<slash]), mode)
    }

    /// Gives the socket file the access rights of `mode`.
    static func setMode(of endpoint: String, to mode: DataMode) {
        if let path = path(of: endpoint) { mode.setSocketMode(path) }
    }

    private static func path(of endpoint: String) -> String? {
        endpoint.hasPrefix("ipc://") ? String(endpoint.dropFirst("ipc://".count)) : nil
    }

    /// The path of the socket file of an `ipc://` endpoint, if this process may not connect to it. Nil if it may, if
    /// there is no such file, and for an endpoint that is not `ipc://`.
    static func forbiddenPath(of endpoint: String) -> String? {
        guard let path = path(of: endpoint) else { return nil }
        // unix(7): connecting to a socket file requires write permission.
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && errno == EACCES ? path : nil
    }

    /// Whether a process serves an `ipc://` endpoint. A file that a killed process left behind is not served.
    static func isServed(_ endpoint: String) -> Bool {
        guard let path = path(of: endpoint).map({ Array($0.utf8) }) else { return false }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        // Non-blocking, so that a process that accepts no connections cannot delay the host.
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let file = socket(AF_UNIX, Int32(type), 0)
        guard file >= 0 else { return false }
        defer { close(file) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 || errno == EAGAIN
            }
        }
    }

    /// Makes a folder and its missing parents.
    package static func makeFolder(_ path: String, _ mode: DataMode) throws {
        if let code = mode.makeFolders(path) { throw AtomicTextFileError.failed("make folder", path, code) }
    }
}
