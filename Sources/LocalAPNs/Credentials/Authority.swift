import Foundation
import Signing

/// A certificate authority for tests, which signs the certificates of the server and the client.
package struct Authority: Sendable {
    package let certificate: Certificate
    private let key: PrivateKey

    /// All certificates are valid from 2020-01-01, because tests may set their clock to the past.
    private static let beginning: Int64 = 1_577_836_800
    private static let commonName = "2.5.4.3"

    init(certificate: Certificate, key: PrivateKey) {
        self.certificate = certificate
        self.key = key
    }

    init(at now: Date) throws(SigningError) {
        key = PrivateKey()
        let draft = CertificateDraft(
            subject: [(Authority.commonName, "Belfry local APNs authority")], key: key.publicKey, use: .authority,
            validSince: Authority.beginning, validUntil: Authority.day(3650, after: now))
        certificate = try draft.signed(by: key)
    }

    var keyText: String {
        get throws(SigningError) { try key.pem }
    }

    /// A server certificate for the names that clients connect to.
    func serverCertificate(for key: PublicKey, names: [String], at now: Date) throws(SigningError) -> Certificate {
        try sign(key, [(Authority.commonName, "Belfry local APNs")], .server(names.map(Authority.name)), at: now)
    }

    /// A client certificate like Apple's: the user ID in the subject is the topic.
    func clientCertificate(for key: PublicKey, topic: String, at now: Date) throws(SigningError) -> Certificate {
        let subject = [
            (CertificateReader.userID, topic), (Authority.commonName, "Apple Push Services: \(topic)"),
        ]
        return try sign(key, subject, .client, at: now)
    }

    private func sign(
        _ publicKey: PublicKey, _ subject: [(String, String)], _ use: CertificateDraft.Use, at now: Date
    ) throws(SigningError) -> Certificate {
        let draft = CertificateDraft(
            subject: subject, key: publicKey, use: use, validSince: Authority.beginning,
            validUntil: Authority.day(396, after: now))
        return try draft.signed(by: key, of: certificate)
    }

    /// - Returns: Seconds since 1970.
    private static func day(_ number: Int, after now: Date) -> Int64 {
        Int64(now.timeIntervalSince1970.rounded()) + Int64(number) * 86_400
    }

    private static func name(_ text: String) -> CertificateDraft.ServerName {
        AddressBytes.of(text).map { .address($0) } ?? .dns(text)
    }
}

/// Encodes an IP address as certificates contain it.
private enum AddressBytes {
    static func of(_ text: String) -> [UInt8]? {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
        var six = in6_addr()
        return inet_pton(AF_INET6, text, &six) == 1 ? withUnsafeBytes(of: six) { Array($0) } : nil
    }
}
