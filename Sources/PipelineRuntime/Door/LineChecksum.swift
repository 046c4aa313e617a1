import EventLog

/// The CRC-32C of a producer's lines from the first one on, each with its line feed.
///
/// When a producer resumes, it skips the lines that the door already has. It computes the checksum of the lines that it
/// skips, and compares it with the door's checksum. If the two differ, its input is not the same as before.
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
