import Glibc
import JSON

/// The lines in a buffer, each without its line feed. A line is valid as long as the buffer. The compiler cannot check
/// this, because a `for` loop needs `Escapable` elements.
package struct Lines: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    package var isAtEnd: Bool { position >= bytes.count }

    /// Whether the buffer ends with a line feed.
    static func areWhole(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.last == UInt8(ascii: "\n") }

    /// The number of line feeds in a buffer. A last line without a line feed is not counted.
    static func count(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var (count, position): (UInt64, Int) = (0, 0)
        while position < bytes.count, let base = bytes.baseAddress,
            let hit = memchr(base + position, 0x0A, bytes.count - position)
        {
            position = base.distance(to: hit) + 1
            count += 1
        }
        return count
    }

    @inline(__always)
    package mutating func next() -> UnsafeRawBufferPointer? {
        guard position < bytes.count, let base = bytes.baseAddress else { return nil }
        let start = base + position
        let left = bytes.count - position
        let length = memchr(start, 0x0A, left).map { UnsafeRawPointer($0) - start } ?? left
        position += length + 1
        return UnsafeRawBufferPointer(start: start, count: length)
    }
}
