import Glibc
import Time

/// The clocks of a host.
package struct HostTime: Sendable {
    package var wall: @Sendable () -> Instant
    package var monotonicNow: @Sendable () -> ContinuousClock.Instant
    /// A number that changes with each boot of the machine. A file that was written before the last boot may lack data
    /// that was not forced to the disk.
    package var boot: @Sendable () -> UInt64 = { HostTime.bootNumber }

    package init(
        wall: @escaping @Sendable () -> Instant = { Instant.wall() },
        monotonicNow: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.wall = wall
        self.monotonicNow = monotonicNow
    }

    /// The boot's number; 0 if the system does not provide it.
    private static var bootNumber: UInt64 {
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 64)
        let count = read(file, &text, text.count)
        return text.prefix(max(0, count)).reduce(0) { ($0 &* 31 &+ UInt64($1)) }
    }
}
