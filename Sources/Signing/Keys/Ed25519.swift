import COpenSSL

/// The signature scheme Ed25519 (RFC 8032). This module only computes public keys; the NATS client library signs.
package enum Ed25519 {
    /// The number of bytes of a seed, and of a public key.
    package static let keyBytes = 32

    /// - Parameter seed: The private key: 32 bytes (RFC 8032, section 5.1.5).
    /// - Returns: 32 bytes.
    /// - Throws: If the seed does not have 32 bytes.
    package static func publicKey(seed: [UInt8]) throws(SigningError) -> [UInt8] {
        guard seed.count == keyBytes else {
            throw .unreadable(reason: "the seed has \(seed.count) bytes instead of \(keyBytes)")
        }
        let key = try OwnedPointer(
            EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count), freedBy: EVP_PKEY_free)
        var bytes = [UInt8](repeating: 0, count: keyBytes)
        var count = bytes.count
        try SigningError.check(key.with { EVP_PKEY_get_raw_public_key($0, &bytes, &count) })
        return bytes
    }
}
