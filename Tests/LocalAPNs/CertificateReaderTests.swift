import Foundation
import Signing
import Testing

@testable import LocalAPNs

/// Tests the reading of client certificates. OpenSSL 3.0 made the two certificates below. They have Apple's form and
/// are self-signed.
struct CertificateReaderTests {
    private static let manyTopics = """
        -----BEGIN CERTIFICATE-----
        MIICbzCCAhWgAwIBAgIUBwmiqcquTlHOzwkxzXwcwbUntoIwCgYIKoZIzj0EAwIw
        VDEhMB8GCgmSJomT8ixkAQEMEWNvbS5leGFtcGxlLk5vdGVzMS8wLQYDVQQDDCZB
        cHBsZSBQdXNoIFNlcnZpY2VzOiBjb20uZXhhbXBsZS5Ob3RlczAgFw0yNjExMjIy
        MzE5MDhaGA8yMTI2MTAyOTIzMTkwOFowVDEhMB8GCgmSJomT8ixkAQEMEWNvbS5l
        eGFtcGxlLk5vdGVzMS8wLQYDVQQDDCZBcHBsZSBQdXNoIFNlcnZpY2VzOiBjb20u
        ZXhhbXBsZS5Ob3RlczBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGra/B/4yNTy
        RQxfcd9EiyBGLhzfjMGfmuGtElBZP96h22H5I74Rcf5zjxNB9dMPIkUHljO+i1xv
        4JGM+/vc7zCjgcIwgb8wEAYKKoZIhvdjZAYDAQQCBQAwEAYKKoZIhvdjZAYDAgQC
        BQAwegYKKoZIhvdjZAYDBgRsMGoMEWNvbS5leGFtcGxlLk5vdGVzMAUMA2FwcAwW
        Y29tLmV4YW1wbGUuTm90ZXMudm9pcDAGDAR2b2lwDB5jb20uZXhhbXBsZS5Ob3Rl
        cy5jb21wbGljYXRpb24wDgwMY29tcGxpY2F0aW9uMB0GA1UdDgQWBBRqdPnq1rcy
        NcydZO9h3eqsxD54gTAKBggqhkjOPQQDAgNIADBFAiAslx5q9NXwEGQrOTxw/LSX
        ys5RxtT+jUsYEYSuoOEBbwIhANxUbMxk3wSfBoIYKv9JIBVYOJquWtlJ0hVEfxMy
        9xOF
        -----END CERTIFICATE-----
        """
    /// A certificate for production. Its list of topics is an octet string instead of a sequence.
    private static let brokenTopics = """
        -----BEGIN CERTIFICATE-----
        MIIB8jCCAZigAwIBAgIUDdOs9aLb3lcnXQnD76u2V6DibDcwCgYIKoZIzj0EAwIw
        VDEhMB8GCgmSJomT8ixkAQEMEWNvbS5leGFtcGxlLk5vdGVzMS8wLQYDVQQDDCZB
        cHBsZSBQdXNoIFNlcnZpY2VzOiBjb20uZXhhbXBsZS5Ob3RlczAgFw0yNjExMjIy
        MzE5MDhaGA8yMTI2MTAyOTIzMTkwOFowVDEhMB8GCgmSJomT8ixkAQEMEWNvbS5l
        eGFtcGxlLk5vdGVzMS8wLQYDVQQDDCZBcHBsZSBQdXNoIFNlcnZpY2VzOiBjb20u
        ZXhhbXBsZS5Ob3RlczBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGra/B/4yNTy
        RQxfcd9EiyBGLhzfjMGfmuGtElBZP96h22H5I74Rcf5zjxNB9dMPIkUHljO+i1xv
        4JGM+/vc7zCjRjBEMBAGCiqGSIb3Y2QGAwIEAgUAMBEGCiqGSIb3Y2QGAwYEAwQB
        eDAdBgNVHQ4EFgQUanT56ta3MjXMnWTvYd3qrMQ+eIEwCgYIKoZIzj0EAwIDSAAw
        RQIgOinZHIwewCP8QJpY/Swia/NP4X9AI2tFlw++pA3wPhgCIQCr5ASNuHfWxH34
        QOKaWlfk6wqRaJTeNxmykZRttiQF3w==
        -----END CERTIFICATE-----
        """

    private static func read(_ pem: String, trusting authorities: [Certificate] = []) throws -> ClientCertificate {
        CertificateReader(authorities: authorities).read(try Certificate(pem: pem).der)
    }

    @Test func `a certificate's topics are its user ID and its list of topics`() throws {
        let topics = ["", ".voip", ".complication"].map { "com.example.Notes" + $0 }
        let trusted = ClientCertificate(
            topics: topics, environments: [.development, .production], isTrusted: true,
            validity: 1_795_389_548_000...4_948_989_548_000)
        #expect(
            try Self.read(Self.manyTopics, trusting: [try Certificate(pem: Self.manyTopics)]) == trusted)
        #expect(try Self.read(Self.manyTopics).isTrusted == false)
    }

    @Test func `a certificate with a broken list of topics has only the topic of its user ID`() throws {
        let read = try Self.read(Self.brokenTopics)
        #expect(read.topics == ["com.example.Notes"])
        #expect(read.environments == [.production])
    }

    @Test func `a certificate without an environment extension is for both environments`() throws {
        let key = PrivateKey()
        let authority = try Authority(at: .now)
        let client = try authority.clientCertificate(for: key.publicKey, topic: "com.example.Mail", at: .now)
        let read = CertificateReader(authorities: [authority.certificate]).read(client.der)
        #expect(read.topics == ["com.example.Mail"] && read.isTrusted)
        #expect(read.environments == Set(Environment.allCases))
    }

    @Test(arguments: [[], [0x30], Array("no certificate".utf8)] as [[UInt8]])
    func `bytes that are not a certificate are read as an untrusted certificate without topics`(bytes: [UInt8]) {
        #expect(CertificateReader(authorities: []).read(bytes) == ClientCertificate(topics: [], isTrusted: false))
    }
}
