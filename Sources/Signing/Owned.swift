/// Owns a pointer of libcrypto and frees it with the last reference.
final class Owned {
    private let pointer: OpaquePointer
    private let free: (OpaquePointer?) -> Void

    /// - Throws: The reason of libcrypto, if it gave no pointer.
    init(_ pointer: OpaquePointer?, freedBy free: @escaping (OpaquePointer?) -> Void) throws(SigningError) {
        guard let pointer else { throw .last() }
        self.pointer = pointer
        self.free = free
    }

    deinit { free(pointer) }

    /// Lends the pointer, which is valid until `body` returns.
    func with<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(pointer)
    }
}

/// A complete key or certificate, which any number of threads may use.
///
/// Unchecked, because the compiler does not see that nobody changes what it points to any more; libcrypto guards the
/// caches inside with locks of its own (openssl-threads(7)).
struct Frozen: @unchecked Sendable {
    private let owned: Owned

    init(_ owned: Owned) { self.owned = owned }

    /// Lends the pointer, for reading, until `body` returns.
    func with<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try owned.with(body)
    }
}
