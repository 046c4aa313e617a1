/// Owns a libcrypto object, and frees that object when the last reference to the owner is released.
final class OwnedPointer {
    private let pointer: OpaquePointer
    private let free: (OpaquePointer?) -> Void

    /// - Throws: libcrypto's error, if the pointer is nil.
    init(_ pointer: OpaquePointer?, freedBy free: @escaping (OpaquePointer?) -> Void) throws(SigningError) {
        guard let pointer else { throw .last() }
        self.pointer = pointer
        self.free = free
    }

    deinit { free(pointer) }

    /// Calls `body` with the pointer, which is valid until `body` returns.
    func with<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(pointer)
    }
}

/// A complete key or certificate, which any number of threads may use.
///
/// `@unchecked`, because the compiler does not see that the object never changes again. libcrypto locks the caches
/// inside it (openssl-threads(7)).
struct ImmutableObject: @unchecked Sendable {
    private let owned: OwnedPointer

    init(_ owned: OwnedPointer) { self.owned = owned }

    /// Calls `body` with the pointer. `body` must not change the object.
    func with<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try owned.with(body)
    }
}
