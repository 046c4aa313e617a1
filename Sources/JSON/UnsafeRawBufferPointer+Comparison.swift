import Glibc

extension UnsafeRawBufferPointer {
    /// Whether both hold the same bytes.
    @inlinable
    public func isSame(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard count > 0, let left = baseAddress, let right = other.baseAddress else { return true }
        return memcmp(left, right, count) == 0
    }
}
