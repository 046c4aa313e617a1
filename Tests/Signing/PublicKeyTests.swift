import Testing

@testable import Signing

@Suite struct PublicKeyTests {
    /// `openssl ec -pubout` of `Samples.one`.
    private static let pem = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEatr8H/jI1PJFDF9x30SLIEYuHN+M
        wZ+a4a0SUFk/3qHbYfkjvhFx/nOPE0H10w8iRQeWM76LXG/gkYz7+9zvMA==
        -----END PUBLIC KEY-----
        """
    /// The same key with a compressed point, by the option `-conv_form compressed`.
    private static let compressed = """
        -----BEGIN PUBLIC KEY-----
        MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgACatr8H/jI1PJFDF9x30SLIEYuHN+M
        wZ+a4a0SUFk/3qE=
        -----END PUBLIC KEY-----
        """

    @Test func `a public key is read and written in OpenSSL's form`() throws {
        let key = try PublicKey(pem: Self.pem)
        #expect(key == (try PrivateKey(pem: Samples.one).publicKey))
        #expect(key.pem == Self.pem)
        #expect(try PublicKey(der: key.der) == key)
    }

    @Test func `a private key, a compressed point and a text without PEM are rejected with the reason`() throws {
        let expected = [
            (Samples.one, "the PEM block is a PRIVATE KEY, not a PUBLIC KEY"),
            (Self.compressed, "there is no public key on the curve P-256 with an uncompressed point"),
            ("hello", "the text is not exactly one PEM block"),
        ]
        for (pem, reason) in expected {
            #expect(throws: SigningError.unreadable(reason: reason)) { try PublicKey(pem: pem) }
        }
    }

    @Test func `bytes that are not exactly one key with a point of the curve are rejected`() throws {
        let der = try PublicKey(pem: Self.pem).der
        for length in 0..<der.count {
            #expect(throws: SigningError.self, "\(length)") { try PublicKey(der: Array(der.prefix(length))) }
        }
        var wrong = der
        wrong[der.count - 1] ^= 1
        for bytes in [wrong, der + [0]] { #expect(throws: SigningError.self) { try PublicKey(der: bytes) } }
    }

    @Test func `secrets are equal only if all their bytes are`() {
        #expect(ConstantTime.areEqual([1, 2, 3], [1, 2, 3]) && ConstantTime.areEqual([], []))
        for other: [UInt8] in [[1, 2], [1, 2, 3, 4], [1, 2, 4], [0, 2, 3], []] {
            #expect(!ConstantTime.areEqual([1, 2, 3], other))
        }
    }
}
