import COpenSSL
import Testing

@testable import Signing

@Suite struct ErrorQueueTests {
    /// TLS code on the same thread would mistake errors in OpenSSL's error queue for its own errors (SSL_get_error(3)).
    @Test func `no failure leaves an error in the thread's OpenSSL error queue`() throws {
        let key = PrivateKey()
        for number in ["00", "FF"].map({ String(repeating: $0, count: 32) }) {
            #expect(throws: SigningError.self) { try PrivateKey(pem: Samples.sec1([UInt8](hexadecimal: number))) }
            #expect(ERR_peek_error() == 0)
        }
        for signature in [[], [0x30], [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0xff, count: 64)] {
            #expect(!key.publicKey.isValid(rawSignature: signature, for: []))
            #expect(!key.publicKey.isValid(derSignature: signature, for: []))
            #expect(ERR_peek_error() == 0)
        }
        #expect(throws: SigningError.self) { try Certificate(der: [0x30, 0x01, 0x00]) }
        #expect(DERElement([0x30, 0x7f]) == nil)
        #expect(ERR_peek_error() == 0)
        let certificate = try Certificate(pem: Samples.certificate)
        #expect(!certificate.hasPublicKey(key.publicKey) && certificate.extensionBytes("2.5.29.17") == nil)
        // An empty queue gives no reason.
        #expect(throws: SigningError.libcrypto(reason: "no reason given")) { throw SigningError.last() }
    }
}
