import Time

/// Reads back what ``SnapshotWriter`` wrote.
public struct SnapshotReader: ~Escapable {
    private let bytes: RawSpan
    private var offset = 0
    private var progress = SnapshotProgress()

    /// Begins at the first byte of a state.
    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan) { self.bytes = bytes }

    /// From now on, calls `body` after about every 16 KiB that the reader reads.
    package mutating func onProgress(_ body: @escaping () -> Void) { progress.begin(at: offset, body) }

    /// Whether everything was read.
    public var isAtEnd: Bool { offset == bytes.byteCount }

    /// Reads a `UInt64`.
    public mutating func number() throws(SnapshotError) -> UInt64 {
        if offset >= progress.next { progress.note(offset) }
        var (number, shift) = (UInt64(0), UInt64(0))
        while offset < bytes.byteCount, shift < 64 {
            let byte = byte(at: offset)
            offset += 1
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        throw SnapshotError(shift < 64 ? "a number ends too soon" : "a number has more than ten bytes", at: offset)
    }

    /// Reads an `Int`.
    public mutating func integer() throws(SnapshotError) -> Int {
        let number = try number()
        return Int(truncatingIfNeeded: number >> 1) ^ -Int(number & 1)
    }

    /// Reads a `Bool`; a byte other than 0 and 1 is an error.
    public mutating func flag() throws(SnapshotError) -> Bool {
        guard offset < bytes.byteCount, byte(at: offset) <= 1 else {
            throw SnapshotError("expected a flag", at: offset)
        }
        offset += 1
        return byte(at: offset - 1) == 1
    }

    @inline(__always)
    private func byte(at offset: Int) -> UInt8 { bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    /// Reads an `Instant`. A time before ``Time/Instant/epoch`` or after ``Time/Instant/distantFuture`` is an error.
    public mutating func instant() throws(SnapshotError) -> Instant {
        let start = offset
        let instant = Instant(microseconds: Int64(try integer()))
        guard (Instant.epoch...Instant.distantFuture).contains(instant) else {
            throw SnapshotError("a moment is outside of the calendar", at: start)
        }
        return instant
    }

    /// Reads bytes or the UTF-8 bytes of a string, without a copy.
    @_lifetime(copy self)
    public mutating func view() throws(SnapshotError) -> RawSpan {
        let count = try number()
        guard count <= UInt64(bytes.byteCount - offset) else {
            throw SnapshotError("fewer than \(count) bytes are left", at: offset)
        }
        defer { offset += Int(count) }
        return bytes.extracting(offset..<offset + Int(count))
    }

    /// Reads bytes as an array.
    public mutating func array() throws(SnapshotError) -> [UInt8] { try view().withUnsafeBytes { Array($0) } }

    /// Reads a string; bytes that are not UTF-8 are an error.
    public mutating func text() throws(SnapshotError) -> String {
        let start = offset
        guard let text = try view().withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw SnapshotError("a string is not UTF-8", at: start)
        }
        return text
    }

    /// Reads whether there is a value, then the value.
    public mutating func optional<Value>(
        _ body: (inout SnapshotReader) throws(SnapshotError) -> Value
    ) throws(SnapshotError) -> Value? {
        try flag() ? try body(&self) : nil
    }

    /// Reads how many elements follow. The count is an error if the remaining bytes cannot contain so many elements. So
    /// it is safe to reserve memory for the elements.
    ///
    /// - Parameter bytesEach: The smallest size of an element.
    public mutating func count(bytesEach: Int = 1) throws(SnapshotError) -> Int {
        let start = offset
        let count = try number()
        guard count <= UInt64((bytes.byteCount - offset) / bytesEach) else {
            throw SnapshotError("too few bytes are left for \(count) elements", at: start)
        }
        return Int(count)
    }

    /// An error at the reader's position, for a stage that has read an impossible value.
    public func error(_ reason: String) -> SnapshotError { SnapshotError(reason, at: offset) }

    /// Reads how many elements follow, then calls `body` to read each of them.
    public mutating func forEach(
        _ body: (inout SnapshotReader) throws(SnapshotError) -> Void
    ) throws(SnapshotError) {
        for _ in 0..<(try count()) { try body(&self) }
    }
}

/// A snapshot whose contents its stage does not expect.
public struct SnapshotError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was expected, or what is impossible.
    public let reason: String
    /// The byte offset in the state.
    public let offset: Int

    /// ``SnapshotReader/error(_:)`` makes an error at the reader's position.
    public init(_ reason: String, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    public var description: String { "\(reason), at byte \(offset) of the state" }
}
