import Testing

@testable import Signing

@Suite struct CertificateTests {
    private static let userID = "0.9.2342.19200300.100.1.1"
    private static let commonName = "2.5.4.3"
    private static let since: Int64 = 1_577_836_800
    private static let until: Int64 = 4_000_000_000

    private static func draft(
        _ name: String, for key: PrivateKey, _ use: CertificateDraft.Use = .authority
    ) -> CertificateDraft {
        CertificateDraft(
            subject: [(commonName, name)], key: key.publicKey, use: use, validSince: since, validUntil: until)
    }

    @Test func `a certificate is read from PEM with its subject, validity, extensions and key`() throws {
        let certificate = try Certificate(pem: "Apple's\n" + Samples.certificate + "\n")
        #expect(certificate.subjectValues(of: Self.userID) == ["com.example.Notes"])
        #expect(certificate.subjectValues(of: Self.commonName) == ["Apple Push Services: com.example.Notes"])
        #expect(certificate.subjectValues(of: "2.5.4.10") == [])
        #expect((certificate.validSince, certificate.validUntil) == (1_795_389_548, 4_948_989_548))
        #expect(certificate.extensionBytes("1.2.840.113635.100.6.3.1") == [5, 0])
        #expect(certificate.extensionBytes("1.2.840.113635.100.6.3.6")?.count == 108)
        #expect(certificate.extensionBytes("1.2.840.113635.100.6.3.7") == nil)
        #expect(certificate.hasPublicKey(try PrivateKey(pem: Samples.one).publicKey))
        #expect(!certificate.hasPublicKey(PrivateKey().publicKey))
        #expect(certificate.isIssued(by: certificate))
        #expect(certificate.pem == Samples.certificate)
    }

    @Test func `a certificate that names two different signature algorithms does not count as issued`() throws {
        let text = Samples.certificate.replacing("gqhkjOPQQDAgNIADBFAiAslx", with: "gqhkjOPQQDAwNIADBFAiAslx")
        let certificate = try Certificate(pem: text)
        #expect(!certificate.isIssued(by: certificate))
    }

    @Test(arguments: ["Certificate:\n    Data:\n", "x", "\n\n"])
    func `other text may surround the certificate`(text: String) throws {
        let certificate = try Certificate(pem: text + Samples.certificate + text)
        #expect(certificate.pem == Samples.certificate)
        let lines = Samples.certificate.replacing("\n", with: "\r\n")
        #expect(try Certificate(pem: text + lines).der == certificate.der)
    }

    @Test func `a certificate is issued by an authority only if both the name and the key fit`() throws {
        let (key, other) = (PrivateKey(), PrivateKey())
        let authority = try Self.draft("authority", for: key).signed(by: key)
        #expect(authority.isIssued(by: authority) && authority.hasPublicKey(key.publicKey))
        #expect((authority.validSince, authority.validUntil) == (Self.since, Self.until))
        let client = try Self.draft("client", for: other, .client).signed(by: key, of: authority)
        #expect(client.isIssued(by: authority) && client.hasPublicKey(other.publicKey))
        #expect(!authority.isIssued(by: client))
        let namesake = try Self.draft("authority", for: other).signed(by: other)
        #expect(!client.isIssued(by: namesake), "the name, but not the key")
        let renamed = try Self.draft("Authority", for: key).signed(by: key)
        #expect(!client.isIssued(by: renamed), "the key, but not the name")
        #expect(try Certificate(pem: client.pem).der == client.der)
        #expect(try Certificate(der: client.der).pem == client.pem)
    }

    @Test func `extensions have the same bytes as extensions that swift-certificates wrote`() throws {
        let key = PrivateKey()
        let authority = try Self.draft("a", for: key).signed(by: key)
        #expect(authority.extensionBytes("2.5.29.19") == [0x30, 0x06, 0x01, 0x01, 0xff, 0x02, 0x01, 0x00])
        #expect(authority.extensionBytes("2.5.29.15") == [0x03, 0x02, 0x02, 0x04])
        let names: [CertificateDraft.ServerName] = [
            .dns("localhost"), .dns("a,IP:1.2.3.4"), .address([127, 0, 0, 1]),
            .address([UInt8](repeating: 0, count: 15) + [1]),
        ]
        let server = try Self.draft("s", for: key, .server(names)).signed(by: key, of: authority)
        let found = try #require(server.extensionBytes("2.5.29.17").flatMap(DERElement.init))
        #expect(found.elements.map(\.identifier) == [0x82, 0x82, 0x87, 0x87])
        #expect(
            found.elements.map(\.content) == [
                Array("localhost".utf8), Array("a,IP:1.2.3.4".utf8), [127, 0, 0, 1],
                [UInt8](repeating: 0, count: 15) + [1],
            ])
        #expect(server.extensionBytes("2.5.29.37") == Self.use(1))
        #expect(try Self.draft("c", for: key, .client).signed(by: key).extensionBytes("2.5.29.37") == Self.use(2))
    }

    /// The extension value for one key purpose of RFC 5280, section 4.2.1.12.
    private static func use(_ number: UInt8) -> [UInt8] {
        [0x30, 0x0a, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, number]
    }

    @Test func `a long topic fits into the name of a certificate's subject`() throws {
        let key = PrivateKey()
        let topic = String(repeating: "com.example.", count: 20) + "Größe"
        var draft = Self.draft("c", for: key, .client)
        draft.subject = [(Self.userID, topic), (Self.commonName, "Apple Push Services: \(topic)")]
        let client = try draft.signed(by: key)
        #expect(client.subjectValues(of: Self.userID) == [topic])
        #expect(client.subjectValues(of: Self.commonName) == ["Apple Push Services: \(topic)"])
    }

    @Test func `a server name that is not ASCII is an error`() {
        let key = PrivateKey()
        #expect(throws: SigningError.self) { try Self.draft("s", for: key, .server([.dns("größe")])).signed(by: key) }
    }

    @Test func `serial numbers differ, are positive and have at most 20 bytes`() throws {
        let key = PrivateKey()
        let numbers = try (0..<50).map { _ in
            let certificate = try Self.draft("a", for: key).signed(by: key)
            return try #require(DERElement(certificate.der)).elements[0].elements[1].content
        }
        #expect(Set(numbers).count == 50)
        #expect(numbers.allSatisfy { (1...20).contains($0.count) && $0[0] < 0x80 })
    }

    @Test(arguments: [
        "", "no certificate", Samples.one, Samples.certificate + "\n" + Samples.certificate,
        String(Samples.certificate.dropLast()), Samples.certificate.replacing("MIICbz", with: "MIICbx"),
        Samples.certificate.replacing("9xOF\n", with: ""),
        Samples.certificate.replacing("\nVDEh", with: "\n\nVDEh"), Samples.certificate + "\n" + Samples.one,
        // A signature by an unknown algorithm.
        Samples.certificate.replacing("gqhkjOPQQDAgNIADBFAiAslx", with: "gqhkjOPQQDDwNIADBFAiAslx"),
        // A public key that is not a point of the curve.
        Samples.certificate.replacing("\nRQxfcd9", with: "\nRQxfcd8"),
    ])
    func `a text without exactly one supported certificate in PEM is an error`(text: String) {
        #expect(throws: SigningError.self) { try Certificate(pem: text) }
    }

    @Test func `a certificate with missing or extra bytes is an error`() throws {
        let der = try Certificate(pem: Samples.certificate).der
        for length in 0..<der.count {
            #expect(throws: SigningError.self, "\(length)") { try Certificate(der: Array(der.prefix(length))) }
        }
        #expect(throws: SigningError.self) { try Certificate(der: der + [0]) }
    }
}
