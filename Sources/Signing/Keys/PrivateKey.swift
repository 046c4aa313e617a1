import COpenSSL

/// A private key on the curve P-256 (SP 800-186), which signs with ECDSA (FIPS 186-5) and SHA-256.
package struct PrivateKey: Sendable {
    private let key: ImmutableObject
    package let publicKey: PublicKey

    private init(_ owned: OwnedPointer) throws(SigningError) {
        key = ImmutableObject(owned)
        publicKey = try PublicKey(key)
    }

    /// Generates a key. Stops the process if the system is out of memory or randomness.
    package init() {
        do throws(SigningError) { try self.init(OwnedPointer(p256_generate(), freedBy: EVP_PKEY_free)) } catch {
            preconditionFailure("cannot generate a key: \(error)")
        }
    }

    /// - Parameter pem: Only the key: in PKCS#8 (RFC 5208), as in Apple's `.p8` files, or in SEC 1 (RFC 5915).
    /// - Throws: If the text is not such a key, or the key is on another curve.
    package init(pem: String) throws(SigningError) {
        let number = try PrivateNumber(PEMBlock(pem))
        let owned = try DER.object(of: number.sec1, freedBy: EVP_PKEY_free) { d2i_PrivateKey(EVP_PKEY_EC, nil, $0, $1) }
        try owned.with { key throws(SigningError) in
            // libcrypto has computed the public key. Without this setting, it would not write the public key.
            try SigningError.check(EVP_PKEY_set_int_param(key, OSSL_PKEY_PARAM_EC_INCLUDE_PUBLIC, 1))
            try PrivateKey.checkRange(of: key)
        }
        try self.init(owned)
    }

    /// - Throws: If the private number is 0, or not below the order of the curve.
    private static func checkRange(of key: OpaquePointer) throws(SigningError) {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { throw .last() }
        defer { EVP_PKEY_CTX_free(context) }
        try SigningError.check(EVP_PKEY_check(context))
    }

    /// The key as PEM of its PKCS#8 form, without a line feed at the end.
    package var pem: String {
        get throws(SigningError) {
            guard let info = key.with(EVP_PKEY2PKCS8) else { throw .last() }
            defer { PKCS8_PRIV_KEY_INFO_free(info) }
            return PEMBlock(label: PrivateNumber.pkcs8Label, bytes: try DER.bytes { i2d_PKCS8_PRIV_KEY_INFO(info, $0) })
                .text
        }
    }

    /// - Returns: 64 bytes: r, then s (RFC 7518, section 3.4). Each call returns a different signature.
    package func signature(for bytes: [UInt8]) throws(SigningError) -> [UInt8] {
        try ECDSASignature(der: try derSignature(for: bytes)).raw
    }

    /// - Returns: A DER sequence of r and s (RFC 3279, section 2.2.3). Each call returns a different signature.
    package func derSignature(for bytes: [UInt8]) throws(SigningError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .last() }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: ECDSASignature.derBytesMax)
        var count = signature.count
        try key.with { key throws(SigningError) in
            try SigningError.check(EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key))
            try SigningError.check(EVP_DigestSign(context, &signature, &count, bytes, bytes.count))
        }
        return Array(signature.prefix(count))
    }

    /// Signs an X509 in place.
    func sign(certificate: OpaquePointer) throws(SigningError) {
        try SigningError.check(key.with { X509_sign(certificate, $0, EVP_sha256()) })
    }
}
