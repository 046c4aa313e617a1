/// The secret number of a P-256 private key: 32 bytes, big-endian.
struct PrivateNumber {
    private let bytes: [UInt8]

    static let pkcs8Label = "PRIVATE KEY"
    private static let byteCount = 32
    // Object identifiers in DER (RFC 5480, sections 2.1.1 and 2.1.1.1).
    static let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
    static let p256: [UInt8] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    /// The explicit tags [0] and [1].
    private static let (tag0, tag1): (UInt8, UInt8) = (0xa0, 0xa1)

    init(_ block: PEMBlock) throws(SigningError) {
        let bytes: [UInt8]?
        switch block.label {
        case PrivateNumber.pkcs8Label: bytes = PrivateNumber.read(pkcs8: block.bytes)
        case "EC PRIVATE KEY": bytes = PrivateNumber.read(sec1: block.bytes)
        default: throw .unreadable(reason: "the PEM block is a \(block.label), not a private key")
        }
        guard let bytes else { throw .unreadable(reason: "there is no private key on the curve P-256") }
        self.bytes = bytes
    }

    /// PrivateKeyInfo (RFC 5208, section 5): version, algorithm, SEC 1, and optionally one attribute, which is
    /// ignored.
    private static func read(pkcs8 bytes: [UInt8]) -> [UInt8]? {
        guard let key = DERElement(bytes), key.identifier == DERElement.Identifier.sequence else { return nil }
        let parts = key.elements
        guard parts.count == 3 || parts.count == 4 && parts[3].identifier == tag0 && parts[3].elements.count == 1 else {
            return nil
        }
        guard isInteger(parts[0], 0), parts[1].identifier == DERElement.Identifier.sequence,
            parts[1].content == ecPublicKey + p256, parts[2].identifier == DERElement.Identifier.octetString
        else { return nil }
        return read(sec1: parts[2].content)
    }

    /// ECPrivateKey (RFC 5915, section 3): version, number, and optionally the curve and the public key.
    private static func read(sec1 bytes: [UInt8]) -> [UInt8]? {
        guard let key = DERElement(bytes), key.identifier == DERElement.Identifier.sequence else { return nil }
        var rest = key.elements[...]
        guard let version = rest.popFirst(), isInteger(version, 1), let number = rest.popFirst() else { return nil }
        guard number.identifier == DERElement.Identifier.octetString, number.content.count == byteCount else {
            return nil
        }
        if let curve = rest.first, curve.identifier == tag0 {
            guard rest.removeFirst().content == p256 else { return nil }
        }
        if let point = rest.first, point.identifier == tag1 {
            guard isBitString(rest.removeFirst().elements) else { return nil }
        }
        return rest.isEmpty ? number.content : nil
    }

    private static func isInteger(_ element: DERElement, _ value: UInt8) -> Bool {
        element.identifier == DERElement.Identifier.integer && element.content == [value]
    }

    /// Whether the elements are one bit string of whole bytes.
    private static func isBitString(_ elements: [DERElement]) -> Bool {
        elements.map(\.identifier) == [DERElement.Identifier.bitString] && elements[0].content.first == 0
    }

    /// SEC 1 with the curve and without the public key, which libcrypto computes.
    var sec1: [UInt8] {
        let content: [UInt8] =
            [DERElement.Identifier.integer, 1, 1, DERElement.Identifier.octetString, UInt8(bytes.count)] + bytes
            + [PrivateNumber.tag0, UInt8(PrivateNumber.p256.count)] + PrivateNumber.p256
        return [DERElement.Identifier.sequence, UInt8(content.count)] + content
    }
}
