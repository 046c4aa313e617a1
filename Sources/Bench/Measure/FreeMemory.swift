import Foundation

/// The memory of the machine that no process uses.
enum FreeMemory {
    /// How many bytes stay untouched, so that the system does not have to end processes.
    private static let reserve = 2 << 30

    /// Writes to every page of the free memory, and frees it again. The host of a virtual machine gives it a page of
    /// memory only when the page is first used, which may take longer than the work that is measured.
    static func touch(_ interruption: Interruption) throws {
        let count = try available() - reserve
        guard count > 0 else { return }
        guard let start = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            start != MAP_FAILED
        else { throw ToolFailure(.software, "the system does not map \(count) bytes: errno \(errno)") }
        defer { munmap(start, count) }
        for offset in stride(from: 0, to: count, by: Int(getpagesize())) {
            if offset & ((64 << 20) - 1) == 0 { try interruption.check() }
            start.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
        }
    }

    /// The `MemAvailable` of `/proc/meminfo`, in bytes (proc(5)).
    private static func available() throws -> Int {
        let lines = try String(contentsOfFile: "/proc/meminfo", encoding: .utf8).split(separator: "\n")
        let line = lines.first { $0.hasPrefix("MemAvailable:") }
        guard let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw ToolFailure(.software, "/proc/meminfo has no line MemAvailable")
        }
        return kilobytes << 10
    }
}
