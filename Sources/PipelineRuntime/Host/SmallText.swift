import Glibc

/// Small files that are written whole or not at all.
enum SmallText {
    static func read(_ path: String, bytesMax: Int = 64 << 10) throws -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw SmallTextError.failed("read", path, errno)
        }
        defer { close(file) }
        var (text, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while text.count < bytesMax {
            let count = Glibc.read(file, &piece, min(piece.count, bytesMax - text.count))
            guard count >= 0 else { throw SmallTextError.failed("read", path, errno) }
            guard count > 0 else { break }
            text += piece[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func write(_ text: String, to path: String) throws {
        let draft = path + ".new"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw SmallTextError.failed("write", draft, errno) }
        let bytes = Array(text.utf8)
        let written = Glibc.write(file, bytes, bytes.count)
        // A write that stops in its middle has no error of its own: the disk was full there.
        let isCut = written >= 0 && written < bytes.count
        let isWritten = written == bytes.count && fsync(file) == 0
        let code = isCut ? ENOSPC : errno
        close(file)
        guard isWritten else {
            unlink(draft)
            throw SmallTextError.failed("write", path, code)
        }
        guard rename(draft, path) == 0 else { throw SmallTextError.failed("write", path, errno) }
    }
}

package enum SmallTextError: Error, CustomStringConvertible {
    case failed(String, String, Int32)
    /// `consumers.json`.
    case unreadable(String)

    package var description: String {
        switch self {
        case .failed(let verb, let path, let code): "cannot \(verb) \(path): \(String(cString: strerror(code)))"
        case .unreadable(let path):
            "\(path) is not what Belfry wrote there; remove this file alone: it is written anew, and until then nothing "
                + "of the log is removed"
        }
    }
}

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
        let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard file >= 0 else { return false }
        defer { close(file) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(file, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
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
