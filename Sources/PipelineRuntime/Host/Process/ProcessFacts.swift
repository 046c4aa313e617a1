import Glibc

/// What a process knows of itself.
enum ProcessFacts {
    static var pid: Int32 { getpid() }

    /// A number of the machine's last start; 0 where the system does not tell.
    static var boot: UInt64 {
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 64)
        let count = read(file, &text, text.count)
        return text.prefix(max(0, count)).reduce(0) { ($0 &* 31 &+ UInt64($1)) }
    }
}
