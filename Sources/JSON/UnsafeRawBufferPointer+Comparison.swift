import Glibc

extension UnsafeRawBufferPointer {
    /// Whether both buffers have the same bytes.
    @inlinable
    package func isSame(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard count > 0, let left = baseAddress, let right = other.baseAddress else { return true }
        return unsafe UnsafeRawBufferPointer.areSame(left, right, count)
    }

    @inlinable
    @inline(__always)
    package func isSame(as text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount, count > 0, let baseAddress else {
            return count == text.utf8CodeUnitCount
        }
        return unsafe UnsafeRawBufferPointer.areSame(baseAddress, text.utf8Start, count)
    }

    /// Compares `count` bytes. For 2 to 16 bytes, as most keys and names have, two loads from each buffer are enough:
    /// its first bytes and its last bytes, which may overlap.
    @inlinable
    @inline(__always)
    static func areSame(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int) -> Bool {
        if count > 16 { return unsafe memcmp(left, right, count) == 0 }
        if count >= 8 { return unsafe areSame(left, right, count, UInt64.self) }
        if count >= 4 { return unsafe areSame(left, right, count, UInt32.self) }
        if count >= 2 { return unsafe areSame(left, right, count, UInt16.self) }
        return unsafe count == 0 || left.load(as: UInt8.self) == right.load(as: UInt8.self)
    }

    @inlinable
    @inline(__always)
    static func areSame<Word: FixedWidthInteger & BitwiseCopyable>(
        _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int, _: Word.Type
    ) -> Bool {
        let last = count - MemoryLayout<Word>.size
        return unsafe left.loadUnaligned(as: Word.self) == right.loadUnaligned(as: Word.self)
            && left.loadUnaligned(fromByteOffset: last, as: Word.self)
                == right.loadUnaligned(fromByteOffset: last, as: Word.self)
    }
}
