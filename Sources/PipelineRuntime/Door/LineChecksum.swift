import EventLog

/// CRC-32C of a producer's lines from its first one on, each with its line feed.
///
/// A producer that resumes compares it with the lines that it would skip, to see whether they are the lines that it sent.
package struct LineChecksum: Equatable {
    package private(set) var value: UInt32

    package init(_ value: UInt32 = 0) { self.value = value }

    /// - Parameter lines: Whole lines, with their line feeds.
    package mutating func add(_ lines: UnsafeRawBufferPointer) { value = CRC32C.checksum(lines, after: value) }

    @inline(__always)
    mutating func add(line: UnsafeRawBufferPointer) {
        add(line)
        withUnsafeBytes(of: UInt8(ascii: "\n")) { add($0) }
    }
}
