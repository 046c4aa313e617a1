import COpenSSL

/// A P-256 signature, the numbers r and s, in the formats of JSON Web Signatures (raw) and X.509 (DER).
struct ECDSASignature {
    private let signature: OwnedPointer

    /// A DER sequence of two integers of 33 bytes.
    static let derBytesMax = 72
    private static let numberBytes = 32

    /// - Parameter raw: r and s, 32 bytes each.
    init(raw: [UInt8]) throws(SigningError) {
        let bytes = 2 * ECDSASignature.numberBytes
        guard raw.count == bytes else {
            throw .unreadable(reason: "the signature has \(raw.count) bytes instead of \(bytes)")
        }
        signature = try OwnedPointer(ECDSA_SIG_new(), freedBy: ECDSA_SIG_free)
        let numbers = [raw.prefix(ECDSASignature.numberBytes), raw.suffix(ECDSASignature.numberBytes)].map {
            BN_bin2bn(Array($0), Int32($0.count), nil)
        }
        try SigningError.check(signature.with { ECDSA_SIG_set0($0, numbers[0], numbers[1]) })
    }

    init(der: [UInt8]) throws(SigningError) {
        signature = try DER.object(of: der, freedBy: ECDSA_SIG_free) { d2i_ECDSA_SIG(nil, $0, $1) }
    }

    var der: [UInt8] {
        get throws(SigningError) {
            try signature.with { signature throws(SigningError) in try DER.bytes { i2d_ECDSA_SIG(signature, $0) } }
        }
    }

    var raw: [UInt8] {
        get throws(SigningError) {
            try signature.with { signature throws(SigningError) in
                try ECDSASignature.bytes(ECDSA_SIG_get0_r(signature))
                    + ECDSASignature.bytes(ECDSA_SIG_get0_s(signature))
            }
        }
    }

    private static func bytes(_ number: OpaquePointer?) throws(SigningError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: numberBytes)
        try SigningError.check(BN_bn2binpad(number, &bytes, Int32(bytes.count)))
        return bytes
    }
}
