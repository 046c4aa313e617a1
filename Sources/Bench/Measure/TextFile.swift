import Foundation

/// Files that a measurement writes and counts.
enum TextFile {
    static func write(_ text: String, to path: String) throws {
        do { try text.write(toFile: path, atomically: false, encoding: .utf8) } catch {
            throw ToolFailure(.cannotCreate, "cannot write \(path): \(error.localizedDescription)")
        }
    }

    /// How many lines end in a file.
    static func lineCount(of path: String) throws -> UInt64 {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw ToolFailure(.noInput, InputSource.complaint(path, errno)) }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var lines: UInt64 = 0
        while true {
            let count = read(file, &buffer, buffer.count)
            guard count > 0 else { return lines }
            lines += buffer.withUnsafeBytes { lineFeeds(in: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    private static func lineFeeds(in bytes: UnsafeRawBufferPointer) -> UInt64 {
        var rest = bytes
        var found: UInt64 = 0
        while let base = rest.baseAddress, rest.count > 0, let hit = memchr(base, 0x0A, rest.count) {
            found += 1
            rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(hit) - base + 1)...])
        }
        return found
    }
}
