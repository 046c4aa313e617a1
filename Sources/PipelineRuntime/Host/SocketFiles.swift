import Glibc

/// The files behind `ipc://` endpoints.
package enum SocketFiles {
    /// Makes the folder that an `ipc://` endpoint lies in.
    static func prepare(_ endpoint: String) throws {
        guard endpoint.hasPrefix("ipc://") else { return }
        let path = endpoint.dropFirst("ipc://".count)
        guard let slash = path.lastIndex(of: "/") else { return }
        try makeFolder(String(path[..<slash]))
    }

    /// Whether a process listens behind an `ipc://` endpoint; a file that a killed process left does not count.
    static func isServed(_ endpoint: String) -> Bool {
        guard endpoint.hasPrefix("ipc://") else { return false }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(endpoint.dropFirst("ipc://".count).utf8)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        // A process that takes no connections at the moment would hold up one that waits.
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

    /// Makes a folder and those above it, where they are missing.
    package static func makeFolder(_ path: String) throws {
        guard !path.isEmpty, mkdir(path, 0o755) != 0 else { return }
        switch errno {
        case EEXIST: return
        case ENOENT:
            guard let slash = path.lastIndex(of: "/") else { throw SmallTextError.failed("make folder", path, ENOENT) }
            try makeFolder(String(path[..<slash]))
            guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
                throw SmallTextError.failed("make folder", path, errno)
            }
        default: throw SmallTextError.failed("make folder", path, errno)
        }
    }
}
