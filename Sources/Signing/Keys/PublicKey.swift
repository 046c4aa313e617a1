import COpenSSL

/// A P-256 public key. Two keys are equal if they are the same point of the curve.
package struct PublicKey: Sendable {
    private let key: ImmutableObject
    /// The point of the curve, uncompressed (SEC 1, section 2.3.3).
    let point: [UInt8]

    init(_ key: ImmutableObject) throws(SigningError) {
        var (point, count) = ([UInt8](repeating: 0, count: 65), 0)
        try SigningError.check(
            key.with { EVP_PKEY_get_octet_string_param($0, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &count) })
        precondition(count == point.count, "a P-256 public key has \(count) bytes instead of \(point.count)")
        self.key = key
        self.point = point
    }

    /// - Parameter signature: r and s, 32 bytes each. A signature of another length is not valid.
    package func isValid(rawSignature signature: [UInt8], for bytes: [UInt8]) -> Bool {
        do throws(SigningError) {
            return isValid(derSignature: try ECDSASignature(raw: signature).der, for: bytes)
        } catch { return false }
    }

    /// - Parameter signature: A sequence of r and s in strict DER. Any other encoding is not valid.
    package func isValid(derSignature signature: [UInt8], for bytes: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            // An invalid signature leaves an error in libcrypto's error queue.
            ERR_clear_error()
        }
        return key.with { key in
            EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
                && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
        }
    }

    func with<Result>(_ body: (OpaquePointer) -> Result) -> Result { key.with(body) }
}

extension PublicKey: Hashable {
    package static func == (one: PublicKey, other: PublicKey) -> Bool { one.point == other.point }

    package func hash(into hasher: inout Hasher) { hasher.combine(point) }
}
