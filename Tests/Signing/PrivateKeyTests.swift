import Testing

@testable import Signing

@Suite struct PrivateKeyTests {
    @Test func `a key that is written and read is the same key`() throws {
        let key = PrivateKey()
        let text = try key.pem
        #expect(text.hasPrefix("-----BEGIN PRIVATE KEY-----\n") && text.hasSuffix("\n-----END PRIVATE KEY-----"))
        let read = try PrivateKey(pem: text + "\n")
        #expect(read.publicKey == key.publicKey)
        #expect(try read.pem == text)
        #expect(PrivateKey().publicKey != key.publicKey)
    }

    @Test(arguments: [
        Samples.one, Samples.one + "\n", "\n" + Samples.one.replacing("\n", with: "\r\n"), Samples.oneInSEC1,
        Samples.oneWithoutItsPublicHalf,
    ])
    func `a key in PKCS 8 or SEC 1 is written as the PKCS 8 text that OpenSSL writes`(text: String) throws {
        #expect(try PrivateKey(pem: text).pem == Samples.one)
    }

    @Test func `a key in SEC 1 is read even if it does not name its curve`() throws {
        let number = [UInt8](hexadecimal: "FBA45A58751D34FD2A52C98F26F55DE1AE840AF9C6976917BC6C130C7277BD88")
        #expect(try PrivateKey(pem: Samples.sec1(number)).pem == Samples.one)
    }

    @Test func `the public key is computed from the private number, not read`() throws {
        let lines = Samples.one.split(separator: "\n")
        let wrong = Samples.one.replacing(lines[3], with: String(lines[3].reversed()).replacing("=", with: "A"))
        #expect(try PrivateKey(pem: wrong).pem == Samples.one)
    }

    @Test(arguments: [Samples.secp256k1, Samples.secp384r1, Samples.oneWithoutItsCurvesName])
    func `a key on another curve, or with numbers in place of the curve's name, is an error`(text: String) {
        #expect(throws: SigningError.unreadable(reason: "there is no private key on the curve P-256")) {
            try PrivateKey(pem: text)
        }
    }

    @Test(arguments: [
        "", "no key", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n====\n-----END PRIVATE KEY-----",
        Samples.one.replacing("PRIVATE KEY", with: "PUBLIC KEY"),
        Samples.one.replacing("PRIVATE KEY", with: "EC PRIVATE KEY"),
        Samples.oneInSEC1.replacing("EC PRIVATE KEY", with: "PRIVATE KEY"),
        Samples.one.replacing("END PRIVATE", with: "END EC PRIVATE"), "Apple's key\n" + Samples.one,
        Samples.one + "\n" + Samples.one, Samples.one.replacing("\nJv", with: "\n\nJ\nv"),
        Samples.one.replacing("MIGH", with: "MIG*"), Samples.certificate,
    ])
    func `a text that is not exactly one key in PEM is an error`(text: String) {
        #expect(throws: SigningError.self) { try PrivateKey(pem: text) }
    }

    @Test func `a key with missing or extra bytes is an error`() {
        for length in 0..<Samples.one.count {
            #expect(throws: SigningError.self, "\(length)") { try PrivateKey(pem: String(Samples.one.prefix(length))) }
        }
        let bytes = PEMBlock.bytes(Samples.one)
        for length in 0..<bytes.count {
            let text = PEMBlock(label: "PRIVATE KEY", bytes: Array(bytes.prefix(length))).text
            #expect(throws: SigningError.self, "\(length)") { try PrivateKey(pem: text) }
        }
        let longer = PEMBlock(label: "PRIVATE KEY", bytes: bytes + [0]).text
        #expect(throws: SigningError.self) { try PrivateKey(pem: longer) }
    }

    /// The order of the curve (SEC 2, section 2.4.2) is the first number that is too large.
    @Test(arguments: [
        "00", "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551",
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
    ])
    func `a key whose number is out of range is an error`(digits: String) {
        let number = [UInt8](hexadecimal: digits)
        let padded = [UInt8](repeating: 0, count: 32 - number.count) + number
        #expect(throws: SigningError.self) { try PrivateKey(pem: Samples.sec1(padded)) }
    }

    /// The element for the public key is empty, holds an empty bit string or a bit string that does not end at a whole
    /// byte, or is replaced by a NULL.
    @Test(arguments: [[0xa1, 0x00], [0xa1, 0x02, 0x03, 0x00], [0xa1, 0x04, 0x03, 0x02, 0x01, 0x02], [0x05, 0x00]])
    func `a key with malformed bytes after its number is an error`(rest: [UInt8]) {
        let content: [UInt8] = [2, 1, 1, 4, 32] + [UInt8](repeating: 1, count: 32) + rest
        let block = PEMBlock(label: "EC PRIVATE KEY", bytes: [0x30, UInt8(content.count)] + content)
        #expect(throws: SigningError.self) { try PrivateKey(pem: block.text) }
    }

    @Test(arguments: [31, 33]) func `a key whose number has another length than 32 bytes is an error`(count: Int) {
        #expect(throws: SigningError.self) {
            try PrivateKey(pem: Samples.sec1([UInt8](repeating: 1, count: count)))
        }
    }

    @Test func `the largest number in range is a key`() throws {
        let number = [UInt8](hexadecimal: "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632550")
        _ = try PrivateKey(pem: Samples.sec1(number))
    }
}

extension PEMBlock {
    /// The bytes of a PEM text; empty if the text is not a block.
    fileprivate static func bytes(_ text: String) -> [UInt8] { (try? PEMBlock(text).bytes) ?? [] }
}
