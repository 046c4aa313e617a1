import JSON
import Time

/// Writes a stage's state. ``SnapshotReader`` reads it back in the same order.
///
/// The same state must give the same bytes. So a hash table, for example, must be written in the order of its keys.
public struct SnapshotWriter: ~Copyable {
    package private(set) var buffer: ByteBuffer
    private var progress = SnapshotProgress()

    /// - Parameter capacity: The bytes to reserve first. The writer grows as needed.
    public init(capacity: Int = 64 << 10) { buffer = ByteBuffer(capacity: capacity) }

    /// From now on, calls `body` after about every 16 KiB that the writer writes.
    package mutating func onProgress(_ body: @escaping () -> Void) { progress.begin(at: buffer.count, body) }

    /// The bytes so far.
    public var bytes: RawSpan {
        @_lifetime(borrow self)
        get { _overrideLifetime(buffer.bytes.bytes, borrowing: self) }
    }

    /// Makes room for this many more bytes, so that the buffer of a large state grows less often.
    public mutating func reserve(_ bytes: Int) { buffer.reserve(bytes) }

    /// Writes a number as LEB128: small numbers take one byte, the largest ten.
    public mutating func write(_ number: UInt64) {
        if buffer.count >= progress.next { progress.note(buffer.count) }
        var rest = number
        while rest >= 0x80 {
            buffer.append(byte: UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        buffer.append(byte: UInt8(truncatingIfNeeded: rest))
    }

    /// Writes a number in zigzag encoding: numbers near zero take one byte, whatever their sign.
    public mutating func write(_ number: Int) { write(UInt64(bitPattern: Int64(number << 1 ^ number >> 63))) }

    /// Writes one byte: 1 for true, 0 for false.
    public mutating func write(_ flag: Bool) { buffer.append(byte: flag ? 1 : 0) }

    /// Writes the microseconds of an instant.
    public mutating func write(_ instant: Instant) { write(Int(instant.microseconds)) }

    /// Writes the number of bytes, then the bytes.
    package mutating func write(_ bytes: UnsafeRawBufferPointer) {
        write(UInt64(bytes.count))
        buffer.append(bytes)
    }

    /// Writes the number of bytes, then the bytes.
    public mutating func write(_ bytes: RawSpan) { bytes.withUnsafeBytes { write($0) } }

    /// Writes the number of bytes, then the bytes.
    public mutating func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { write($0) } }

    /// Writes the number of UTF-8 bytes of a string, then the bytes.
    public mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes whether there is a value, then the value.
    public mutating func write<Value>(_ value: Value?, _ body: (Value, inout SnapshotWriter) -> Void) {
        write(value != nil)
        if let value { body(value, &self) }
    }

    /// Writes the number of values, then each value.
    public mutating func write<Values: Collection>(
        all values: Values, _ body: (Values.Element, inout SnapshotWriter) -> Void
    ) {
        write(UInt64(values.count))
        for value in values { body(value, &self) }
    }
}

/// Calls back now and then while a state is written or read.
struct SnapshotProgress {
    /// The offset at which `body` is called next.
    private(set) var next = Int.max
    private var body: () -> Void = {}

    private static let interval = 16 << 10

    mutating func begin(at offset: Int, _ body: @escaping () -> Void) {
        (next, self.body) = (offset + SnapshotProgress.interval, body)
    }

    mutating func note(_ offset: Int) {
        next = offset + SnapshotProgress.interval
        body()
    }
}
