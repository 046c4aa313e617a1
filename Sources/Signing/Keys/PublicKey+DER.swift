import COpenSSL

/// SubjectPublicKeyInfo (RFC 5480, section 2), with the point uncompressed, as `openssl ec -pubout` writes it.
extension PublicKey {
    private static let label = "PUBLIC KEY"
    /// All bytes before the point. They are always the same, because the point's length is fixed.
    private static let header: [UInt8] =
        [DERElement.Identifier.sequence, 0x59, DERElement.Identifier.sequence, 0x13]
        + PrivateNumber.ecPublicKey + PrivateNumber.p256 + [DERElement.Identifier.bitString, 0x42, 0x00]

    package var der: [UInt8] { PublicKey.header + point }

    /// - Throws: If the bytes are not a key on the curve P-256, or the point is compressed.
    package init(der: [UInt8]) throws(SigningError) {
        guard der.starts(with: PublicKey.header) else {
            throw .unreadable(reason: "there is no public key on the curve P-256 with an uncompressed point")
        }
        try self.init(ImmutableObject(DER.object(of: der, freedBy: EVP_PKEY_free) { d2i_PUBKEY(nil, $0, $1) }))
    }

    /// - Throws: If the text is not one PEM block with such a key.
    package init(pem: String) throws(SigningError) {
        let block = try PEMBlock(pem)
        guard block.label == PublicKey.label else {
            throw .unreadable(reason: "the PEM block is a \(block.label), not a \(PublicKey.label)")
        }
        try self.init(der: block.bytes)
    }

    /// The key as PEM, without a line feed at the end.
    package var pem: String { PEMBlock(label: PublicKey.label, bytes: der).text }
}
