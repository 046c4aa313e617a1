import Glibc
import ZeroMQ

/// Whether the process has file descriptors to spare. While it has not, a host takes no new connections: those that it
/// has are served, and its logs have descriptors to go on with.
///
/// Belongs to the host's thread.
final class DescriptorRoom {
    private let stage: String
    private var gates: [AcceptGate] = []
    /// Bound endpoints whose gates were not found yet.
    private var missing: [String]

    /// - Parameter endpoints: Where the host is bound.
    init(stage: String, endpoints: [String]) {
        self.stage = stage
        missing = endpoints.filter { !$0.hasPrefix("inproc:") }
    }

    /// Whether connections wait until there are more descriptors.
    private(set) var isShort = false

    /// How soon ``turn()`` wants to be called, so that who comes in and says nothing keeps nobody else waiting.
    var patience: Duration { .milliseconds(missing.isEmpty ? 50 : 5) }

    /// Lets a connection in at each gate, where there is room for it.
    ///
    /// - Returns: Whether ``isShort`` has changed.
    func turn() -> Bool {
        if !missing.isEmpty { findGates() }
        guard !gates.isEmpty else { return false }
        let (left, reserve) = DescriptorRoom.left
        let isNews = isShort ? left > 2 * reserve : left <= reserve
        if isNews { tell() }
        if !isShort { for gate in gates { gate.letOneIn() } }
        return isNews
    }

    private func tell() {
        isShort.toggle()
        StandardError.write(
            isShort
                ? "\(stage): out of file descriptors: no new connection is taken until there are more; raise `ulimit -n`"
                : "\(stage): there are file descriptors again; connections are taken")
    }

    private func findGates() {
        missing.removeAll { endpoint in
            let gate = AcceptGate(endpoint: endpoint)
            if !gate.isEmpty { gates.append(gate) }
            return !gate.isEmpty
        }
    }

    /// How many descriptors are left, as far as the lowest free one tells, and how many of them are for our own files.
    private static var left: (count: Int, reserve: Int) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return (.max, 0) }
        let count = Int(clamping: limit.rlim_cur)
        let reserve = min(32, max(4, count / 8))
        let lowest = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lowest >= 0 else { return (0, reserve) }
        close(lowest)
        return (count - Int(lowest), reserve)
    }
}
