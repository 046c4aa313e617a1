import Foundation

/// The processor time that a process has used so far, and its memory, from `/proc` (proc(5)).
struct ProcessUse: Hashable, Sendable {
    var userSeconds: Double
    var systemSeconds: Double
    var residentBytes: UInt64
    /// Resident anonymous memory: the bytes that belong to no file.
    var anonymousBytes: UInt64
    var peakBytes: UInt64

    var seconds: Double { userSeconds + systemSeconds }

    /// Nil if `/proc` cannot be read for this process, usually because the process has ended.
    init?(pid: Int32) {
        guard let stat = ProcessUse.text("/proc/\(pid)/stat"), let status = ProcessUse.text("/proc/\(pid)/status")
        else {
            return nil
        }
        self.init(stat: stat, status: status, ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))))
    }

    static func own() throws -> ProcessUse {
        guard let use = ProcessUse(pid: getpid()) else {
            throw ToolFailure(.software, "/proc does not show this process")
        }
        return use
    }

    /// Nil if `stat` lacks the times. A property of the memory is 0 if `status` has no line for it.
    ///
    /// - Parameters:
    ///   - stat: `/proc/PID/stat`. Fields 14 and 15 are user and system time in ticks; field 2, in parentheses, may
    ///     contain spaces.
    ///   - status: `/proc/PID/status`, with lines like `VmHWM:     1234 kB`.
    init?(stat: String, status: String, ticksPerSecond: Double) {
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[end...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return nil }
        userSeconds = user / ticksPerSecond
        systemSeconds = system / ticksPerSecond
        residentBytes = ProcessUse.bytes("VmRSS:", in: status)
        anonymousBytes = ProcessUse.bytes("RssAnon:", in: status)
        peakBytes = ProcessUse.bytes("VmHWM:", in: status)
    }

    /// The memory of this reading, and the processor time since an earlier reading.
    func since(_ earlier: ProcessUse) -> ProcessUse {
        var use = self
        use.userSeconds -= earlier.userSeconds
        use.systemSeconds -= earlier.systemSeconds
        return use
    }

    /// Returns freed memory to the system (malloc_trim(3), which Swift's Glibc does not declare). Otherwise freed pages
    /// still count as resident: the process would use these pages again, and a later reading would not grow.
    static func trimMemory() {
        guard let trim = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(trim, to: (@convention(c) (Int) -> Int32).self)(0)
    }

    private static func bytes(_ key: String, in status: String) -> UInt64 {
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(key) }) else { return 0 }
        return (line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { UInt64($0) } ?? 0)
            << 10
    }

    private static func text(_ path: String) -> String? {
        do { return try String(contentsOfFile: path, encoding: .utf8) } catch { return nil }
    }
}
