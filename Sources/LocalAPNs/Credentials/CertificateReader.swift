import Foundation
import SwiftASN1
import X509

/// Reads what a client's certificate says of it, in Apple's way.
struct CertificateReader: Sendable {
    let authorities: [Certificate]

    /// The attribute of a subject that holds the topic (RFC 4519 §2.39).
    static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]
    private static let development: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 1]
    private static let production: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 2]
    private static let topics: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 6]

    /// What cannot be read belongs to no one.
    func read(_ bytes: [UInt8]) -> ClientCertificate {
        do { return read(try Certificate(derEncoded: bytes)) } catch {
            return ClientCertificate(topics: [], isKnown: false)
        }
    }

    private func read(_ certificate: Certificate) -> ClientCertificate {
        let isKnown = authorities.contains {
            $0.subject == certificate.issuer && $0.publicKey.isValidSignature(certificate.signature, for: certificate)
        }
        let since = certificate.notValidBefore.timeIntervalSince1970 * 1000
        let until = max(since, certificate.notValidAfter.timeIntervalSince1970 * 1000)
        return ClientCertificate(
            topics: topics(of: certificate), environments: environments(of: certificate), isKnown: isKnown,
            validity: Int64(since)...Int64(until))
    }

    private func topics(of certificate: Certificate) -> [String] {
        let names = certificate.subject.flatMap { Array($0) }.filter { $0.type == CertificateReader.userID }
        let first = names.compactMap { String($0.value) }
        guard let more = certificate.extensions[oid: CertificateReader.topics] else { return first }
        return first + TopicList.read(Array(more.value)).filter { !first.contains($0) }
    }

    /// One mark, or both; none means any.
    private func environments(of certificate: Certificate) -> Set<Environment> {
        let marks: [(ASN1ObjectIdentifier, Environment)] = [
            (CertificateReader.development, .development), (CertificateReader.production, .production),
        ]
        let marked = marks.filter { certificate.extensions[oid: $0.0] != nil }.map(\.1)
        return Set(marked.isEmpty ? Environment.allCases : marked)
    }
}

/// Apple's list of topics: a sequence of a text and a sequence of labels each.
private enum TopicList {
    static func read(_ bytes: [UInt8]) -> [String] {
        do {
            guard case .constructed(let nodes) = try DER.parse(bytes).content else { return [] }
            return try nodes.filter { $0.identifier == .utf8String }.map {
                String(decoding: try ASN1UTF8String(derEncoded: $0).bytes, as: UTF8.self)
            }
        } catch {
            return []
        }
    }
}
