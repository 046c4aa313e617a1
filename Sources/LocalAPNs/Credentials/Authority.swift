import Crypto
import Foundation
import SwiftASN1
import X509

/// A throwaway certificate authority: signs the server's certificate and the client's.
package struct Authority: Sendable {
    package let certificate: Certificate
    private let key: P256.Signing.PrivateKey

    /// 2020-01-01: tests may live in the past.
    private static let beginning = Date(timeIntervalSince1970: 1_577_836_800)

    init(certificate: Certificate, key: P256.Signing.PrivateKey) {
        self.certificate = certificate
        self.key = key
    }

    init(since now: Date) throws {
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName { CommonName("Belfry local APNs authority") }
        self.key = key
        certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
            notValidBefore: Authority.beginning, notValidAfter: now.addingTimeInterval(3650 * 86_400),
            issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true))
            },
            issuerPrivateKey: .init(key))
    }

    var keyText: String { key.pemRepresentation }

    /// For the names that clients connect to.
    func server(_ key: P256.Signing.PublicKey, names: [String], since now: Date) throws -> Certificate {
        try sign(
            key, try DistinguishedName { CommonName("Belfry local APNs") }, since: now,
            try Certificate.Extensions {
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(names.map(Authority.name))
            })
    }

    /// As Apple's are: the subject's user ID is the topic.
    func client(_ key: P256.Signing.PublicKey, topic: String, since now: Date) throws -> Certificate {
        let subject = DistinguishedName([
            RelativeDistinguishedName(.init(type: CertificateReader.userID, utf8String: topic)),
            RelativeDistinguishedName(
                .init(type: .NameAttributes.commonName, utf8String: "Apple Push Services: \(topic)")),
        ])
        return try sign(
            key, subject, since: now, try Certificate.Extensions { try ExtendedKeyUsage([.clientAuth]) })
    }

    private func sign(
        _ publicKey: P256.Signing.PublicKey, _ subject: DistinguishedName, since now: Date,
        _ extensions: Certificate.Extensions
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(publicKey),
            notValidBefore: Authority.beginning, notValidAfter: now.addingTimeInterval(396 * 86_400),
            issuer: certificate.subject, subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions, issuerPrivateKey: .init(key))
    }

    private static func name(_ text: String) -> GeneralName {
        guard let address = AddressBytes.of(text) else { return .dnsName(text) }
        return .ipAddress(ASN1OctetString(contentBytes: ArraySlice(address)))
    }
}

/// An IP address as certificates hold it.
private enum AddressBytes {
    static func of(_ text: String) -> [UInt8]? {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
        var six = in6_addr()
        return inet_pton(AF_INET6, text, &six) == 1 ? withUnsafeBytes(of: six) { Array($0) } : nil
    }
}
