import Foundation

/// A file of lines in memory, and where each line stands.
struct MatchInput: Sendable {
    let path: String
    let bytes: Data
    private let lines: [Range<Int>]

    init(_ path: String) throws {
        self.path = path
        do { bytes = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw ToolFailure(.noInput, "cannot read \(path): \(error.localizedDescription)")
        }
        lines = bytes.withUnsafeBytes { MatchInput.lines(in: $0) }
    }

    var count: Int { lines.count }

    private static func lines(in bytes: UnsafeRawBufferPointer) -> [Range<Int>] {
        var (lines, start) = ([Range<Int>](), 0)
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            if end > start { lines.append(start..<end) }
            start = end + 1
        }
        return lines
    }

    /// Calls `body` with each line and its place, from 0.
    ///
    /// - Throws: What `body` throws, with the file and the line put before it.
    func readLines(of range: Range<Int>? = nil, _ body: (Int, UnsafeRawBufferPointer) throws -> Void) throws {
        try bytes.withUnsafeBytes { bytes in
            for index in range ?? lines.indices {
                do { try body(index, UnsafeRawBufferPointer(rebasing: bytes[lines[index]])) } catch {
                    throw ToolFailure(.badData, "\(path), line \(index + 1): \(error)")
                }
            }
        }
    }
}
