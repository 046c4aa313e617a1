import COpenSSL

/// HMAC with SHA-256 (RFC 2104).
package enum HMAC {
    /// The 32-byte code of a message. Stops the process if libcrypto fails, for example because memory runs out.
    ///
    /// - Parameter parts: The message in parts, so that the caller need not join them.
    package static func code(of parts: [[UInt8]], key: [UInt8]) -> [UInt8] {
        let mac = EVP_MAC_fetch(nil, OSSL_MAC_NAME_HMAC, nil)
        let context = EVP_MAC_CTX_new(mac)
        defer {
            EVP_MAC_CTX_free(context)
            EVP_MAC_free(mac)
        }
        var (code, count) = ([UInt8](repeating: 0, count: 32), 0)
        let isDone =
            context != nil && hmac_sha256_begin(context, key, key.count) == 1
            && parts.allSatisfy { EVP_MAC_update(context, $0, $0.count) == 1 }
            && EVP_MAC_final(context, &code, &count, code.count) == 1
        precondition(isDone && count == code.count, "cannot compute an HMAC: \(SigningError.last())")
        return code
    }
}
