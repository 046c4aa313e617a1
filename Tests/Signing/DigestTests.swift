import Testing

@testable import Signing

@Suite struct DigestTests {
    private static func bytes(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

    /// The examples of RFC 4231, sections 4.2 to 4.8. Section 4.6 is left out, because its HMAC is truncated.
    private static let known: [(key: [UInt8], message: [UInt8], code: String)] = [
        (
            bytes(0x0b, 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (bytes(0xaa, 20), bytes(0xdd, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        (Array(1...25), bytes(0xcd, 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
        (
            bytes(0xaa, 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            bytes(0xaa, 131),
            Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test(arguments: known) func `an HMAC is made with SHA-256`(key: [UInt8], message: [UInt8], code: String) {
        let code = [UInt8](hexadecimal: code)
        #expect(HMAC.code(of: [message], key: key) == code)
        #expect(HMAC.code(of: message.map { [$0] }, key: key) == code)
        #expect(HMAC.code(of: [[], Array(message.prefix(7)), Array(message.dropFirst(7)), []], key: key) == code)
    }

    @Test func `an HMAC can have an empty key and an empty message`() {
        let code = [UInt8](hexadecimal: "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
        #expect(HMAC.code(of: [], key: []) == code)
    }

    /// Two known digests, and one long message that is added in parts of various lengths, and again byte by byte.
    @Test func `digests are SHA-256`() {
        #expect(
            SHA256.digest(of: "abc")
                == [UInt8](hexadecimal: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        #expect(
            SHA256.digest(of: "")
                == [UInt8](hexadecimal: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
        var (whole, parts) = (SHA256(), SHA256())
        for length in [1, 54, 55, 56, 63, 64, 65, 119, 120, 128, 200] {
            let text = String(repeating: "a", count: length)
            whole.update(text)
            for character in text { parts.update(String(character)) }
        }
        #expect(whole.digest == parts.digest)
        #expect(
            whole.digest == [UInt8](hexadecimal: "9f3b18cad76cdc421163f7fdfae9285c109a1de18573f64734fb720b2109cbb9"))
    }

    @Test func `a copy of an unfinished digest continues independently`() {
        var first = SHA256()
        first.update("a")
        var second = first
        second.update("bc")
        #expect(first.digest == SHA256.digest(of: "a"))
        #expect(second.digest == SHA256.digest(of: "abc"))
        first.update("b")
        #expect(first.digest == SHA256.digest(of: "ab"))
    }
}
