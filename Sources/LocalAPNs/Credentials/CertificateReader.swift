import Signing

/// Reads the topics and environments in a client's certificate, which has the form of Apple's certificates.
struct CertificateReader: Sendable {
    let authorities: [Certificate]

    /// The attribute of a subject that holds the topic (RFC 4519 §2.39).
    static let userID = "0.9.2342.19200300.100.1.1"
    private static let development = "1.2.840.113635.100.6.3.1"
    private static let production = "1.2.840.113635.100.6.3.2"
    private static let topics = "1.2.840.113635.100.6.3.6"

    /// A certificate that cannot be read has no topics and is not trusted.
    func read(_ bytes: [UInt8]) -> ClientCertificate {
        do throws(SigningError) { return read(try Certificate(der: bytes)) } catch {
            return ClientCertificate(topics: [], isTrusted: false)
        }
    }

    private func read(_ certificate: Certificate) -> ClientCertificate {
        let since = certificate.validSince * 1000
        return ClientCertificate(
            topics: topics(of: certificate), environments: environments(of: certificate),
            isTrusted: authorities.contains { certificate.isIssued(by: $0) },
            validity: since...max(since, certificate.validUntil * 1000))
    }

    private func topics(of certificate: Certificate) -> [String] {
        let first = certificate.subjectValues(of: CertificateReader.userID)
        guard let more = certificate.extensionBytes(CertificateReader.topics) else { return first }
        return first + TopicList.read(more).filter { !first.contains($0) }
    }

    /// The environments whose extensions the certificate has. A certificate without these extensions is for both.
    private func environments(of certificate: Certificate) -> Set<Environment> {
        let extensions: [(String, Environment)] = [
            (CertificateReader.development, .development), (CertificateReader.production, .production),
        ]
        let named = extensions.filter { certificate.extensionBytes($0.0) != nil }.map(\.1)
        return Set(named.isEmpty ? Environment.allCases : named)
    }
}

/// Apple's list of topics: a sequence in which each topic is followed by a sequence of labels.
private enum TopicList {
    static func read(_ bytes: [UInt8]) -> [String] {
        let elements = DERElement(bytes)?.elements ?? []
        return elements.filter { $0.identifier == DERElement.Identifier.utf8String }.map {
            String(decoding: $0.content, as: UTF8.self)
        }
    }
}
