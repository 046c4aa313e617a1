import CZeroMQ
import Glibc

/// Lets one new connection at a time in to a bound socket, and only when its owner says so. The others wait in the
/// system's queue.
///
/// libzmq takes whatever comes, also when the process has no file descriptor to take it with: then its I/O thread spins
/// on TCP, and ends the process on IPC. It offers nothing to stop that but to unbind, which cuts off everybody. So the
/// listening descriptor is found in the I/O thread's epoll set, as `/proc` shows it, and made to report once. Without
/// `/proc` the gate is empty, and all is as libzmq has it.
///
/// Belongs to the thread that owns the socket, and must not outlive that: its descriptor may then be another's.
public final class AcceptGate {
    private let listeners: [Listener]

    /// Takes the gate over: nothing is let in before ``letOneIn()``.
    ///
    /// - Parameter endpoint: As bound: `ipc://` or `tcp://`; others have no listener.
    public init(endpoint: String) {
        listeners = EpollSet.all().flatMap(\.listeners).filter { $0.isBound(to: endpoint) }
        for listener in listeners { listener.report(0) }
    }

    /// Leaves the gate wide open.
    deinit { for listener in listeners { listener.report(EPOLLIN.rawValue) } }

    /// Whether there is nothing to guard: libzmq begins to listen a moment after `bind` has returned.
    public var isEmpty: Bool { listeners.isEmpty }

    /// The next connection may come in. Calls before it has come count as one.
    public func letOneIn() {
        for listener in listeners { listener.report(EPOLLIN.rawValue | EPOLLONESHOT.rawValue) }
    }
}

/// A listening descriptor in an epoll set.
private struct Listener {
    var descriptor: Int32
    var epoll: Int32
    var data: UInt64

    func report(_ events: UInt32) {
        var event = epoll_event(events: events, data: epoll_data_t(u64: data))
        epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event)
    }

    func isBound(to endpoint: String) -> Bool {
        var name = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let found = withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard found == 0, isListening else { return false }
        return withUnsafeBytes(of: name) { Listener.matches($0, Int32(name.ss_family), endpoint) }
    }

    private var isListening: Bool {
        var (value, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0
    }

    /// Within one process a port stands for its listener.
    private static func matches(_ name: UnsafeRawBufferPointer, _ family: Int32, _ endpoint: String) -> Bool {
        switch family {
        case AF_UNIX:
            let path = name.dropFirst(MemoryLayout<sa_family_t>.size).prefix { $0 != 0 }
            return endpoint == "ipc://" + String(decoding: path, as: UTF8.self)
        case AF_INET, AF_INET6:
            let port = UInt16(name[2]) << 8 | UInt16(name[3])
            return endpoint.hasPrefix("tcp://") && endpoint.hasSuffix(":\(port)")
        default: return false
        }
    }
}

/// What `/proc` tells of one epoll set of this process.
private struct EpollSet {
    var listeners: [Listener]

    static func all() -> [EpollSet] {
        guard let folder = opendir("/proc/self/fdinfo") else { return [] }
        defer { closedir(folder) }
        var sets: [EpollSet] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let descriptor = Int32(name), let set = EpollSet(descriptor) { sets.append(set) }
        }
        return sets
    }

    /// Nil where the descriptor is something else.
    ///
    /// One line for each member: `tfd:       13 events:        1 data:     7f5c08001a60  pos:0 ino:…`.
    private init?(_ epoll: Int32) {
        let lines = EpollSet.text("/proc/self/fdinfo/\(epoll)").split(separator: "\n").filter { $0.hasPrefix("tfd:") }
        guard !lines.isEmpty else { return nil }
        listeners = lines.compactMap { line in
            let words = line.split { $0 == " " || $0 == "\t" }
            guard words.count >= 6, words[2] == "events:", words[4] == "data:", let descriptor = Int32(words[1]),
                let data = UInt64(words[5], radix: 16)
            else { return nil }
            return Listener(descriptor: descriptor, epoll: epoll, data: data)
        }
    }

    private static func text(_ path: String) -> String {
        let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { Glibc.close(file) }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while case let count = read(file, &piece, piece.count), count > 0 { bytes += piece[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
