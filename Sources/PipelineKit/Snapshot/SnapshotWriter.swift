import JSON
import Time

/// Takes down a stage's state. What is written is read back by ``SnapshotReader`` in the same order.
///
/// The same state must give the same bytes: what is kept in a hash table is written in the order of its keys.
public struct SnapshotWriter: ~Copyable {
    package private(set) var buffer: ByteBuffer
    private var progress = SnapshotProgress()

    /// Grows as needed from that many bytes.
    public init(capacity: Int = 64 << 10) { buffer = ByteBuffer(capacity: capacity) }

    /// Calls back each time that so much more was written that some time has passed.
    package mutating func onProgress(_ body: @escaping () -> Void) { progress.begin(at: buffer.count, body) }

    /// What was written so far.
    public var bytes: RawSpan {
        @_lifetime(borrow self)
        get { _overrideLifetime(buffer.bytes.bytes, borrowing: self) }
    }

    /// Makes room for that many bytes more: a stage with much to write saves copies of what it has written.
    public mutating func reserve(_ bytes: Int) { buffer.reserve(bytes) }

    /// Small numbers take one byte, the largest ten (LEB128).
    public mutating func write(_ number: UInt64) {
        if buffer.count >= progress.next { progress.note(buffer.count) }
        var rest = number
        while rest >= 0x80 {
            buffer.append(byte: UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        buffer.append(byte: UInt8(truncatingIfNeeded: rest))
    }

    /// Numbers near zero take one byte, whatever their sign (zigzag).
    public mutating func write(_ number: Int) { write(UInt64(bitPattern: Int64(number << 1 ^ number >> 63))) }

    /// Takes one byte.
    public mutating func write(_ flag: Bool) { buffer.append(byte: flag ? 1 : 0) }

    /// Writes the microseconds.
    public mutating func write(_ instant: Instant) { write(Int(instant.microseconds)) }

    /// Writes how many bytes there are, then the bytes.
    package mutating func write(_ bytes: UnsafeRawBufferPointer) {
        write(UInt64(bytes.count))
        buffer.append(bytes)
    }

    /// Writes how many bytes there are, then the bytes.
    public mutating func write(_ bytes: RawSpan) { bytes.withUnsafeBytes { write($0) } }

    /// Writes how many bytes there are, then the bytes.
    public mutating func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { write($0) } }

    /// Writes the UTF-8 of the text, as bytes.
    public mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes whether there is a value, then the value.
    public mutating func write<Value>(_ value: Value?, _ body: (Value, inout SnapshotWriter) -> Void) {
        write(value != nil)
        if let value { body(value, &self) }
    }

    /// Writes how many there are, then each.
    public mutating func write<Values: Collection>(
        all values: Values, _ body: (Values.Element, inout SnapshotWriter) -> Void
    ) {
        write(UInt64(values.count))
        for value in values { body(value, &self) }
    }
}

/// Tells whoever writes or reads a state how far it has come, now and then.
struct SnapshotProgress {
    /// Where to tell next.
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
