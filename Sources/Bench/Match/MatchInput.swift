import Foundation

/// The lines of a file or of a ``MatchWorkload``, in memory. Empty lines are left out.
struct MatchInput: Sendable {
    /// The name in messages.
    let name: String
    let bytes: Data
    private let lines: [Range<Int>]

    init(_ path: String) throws {
        do { self.init(name: path, bytes: try Data(contentsOf: URL(fileURLWithPath: path))) } catch {
            throw ToolFailure(.noInput, "cannot read \(path): \(error.localizedDescription)")
        }
    }

    /// - Parameter make: Calls its argument with each line, line feed included.
    init(name: String, _ make: ((UnsafeRawBufferPointer) -> Void) -> Void) {
        var bytes = Data()
        make { bytes.append(contentsOf: $0) }
        self.init(name: name, bytes: bytes)
    }

    private init(name: String, bytes: Data) {
        (self.name, self.bytes) = (name, bytes)
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

    /// Calls `body` with the index and the text of each line, without its line feed.
    ///
    /// - Parameter range: The indexes of the lines to read; nil for all lines.
    /// - Throws: ``ToolFailure`` with the name, the number of the line in the file, and the error of `body`.
    func readLines(of range: Range<Int>? = nil, _ body: (Int, UnsafeRawBufferPointer) throws -> Void) throws {
        try bytes.withUnsafeBytes { bytes in
            for index in range ?? lines.indices {
                do { try body(index, UnsafeRawBufferPointer(rebasing: bytes[lines[index]])) } catch {
                    let before = bytes[..<lines[index].lowerBound]
                    let number = before.reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
                    throw ToolFailure(.badData, "\(name), line \(number): \(error)")
                }
            }
        }
    }
}
