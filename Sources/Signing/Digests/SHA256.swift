import COpenSSL

/// SHA-256 (FIPS 180-4) of bytes that arrive in parts.
package struct SHA256 {
    /// Shared between copies until one of them is updated.
    private var state = State()

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if !isKnownUniquelyReferenced(&state) { state = State(copyOf: state) }
        state.update(bytes)
    }

    package mutating func update(_ text: String) {
        var text = text
        text.withUTF8 { update(UnsafeRawBufferPointer($0)) }
    }

    /// The 32-byte digest of all bytes so far.
    package var digest: [UInt8] { State(copyOf: state).finish() }

    package static func digest(of text: String) -> [UInt8] {
        var hash = SHA256()
        hash.update(text)
        return hash.digest
    }

    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.digest
    }
}

/// A computation in libcrypto. Stops the process if libcrypto fails, for example because memory runs out.
private final class State {
    private let context: OpaquePointer

    init(copyOf other: State? = nil) {
        guard let context = EVP_MD_CTX_new(),
            other.map({ EVP_MD_CTX_copy_ex(context, $0.context) }) ?? EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
        else { preconditionFailure("SHA-256 cannot start: \(SigningError.last())") }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: UnsafeRawBufferPointer) {
        precondition(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "SHA-256 cannot add bytes")
    }

    func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        precondition(EVP_DigestFinal_ex(context, &digest, nil) == 1, "SHA-256 cannot finish")
        return digest
    }
}
