import COpenSSL
import Glibc

/// A certificate (RFC 5280) of any kind of key that libcrypto knows.
package struct Certificate: Sendable {
    private let certificate: Frozen
    package let der: [UInt8]
    /// In seconds since 1970.
    package let validSince: Int64
    /// In seconds since 1970; the last second at which it is valid.
    package let validUntil: Int64

    private static let label = "CERTIFICATE"

    /// - Throws: If the bytes are anything but one certificate, or libcrypto does not know its kind of key
    ///   or signature.
    package init(der: [UInt8]) throws(SigningError) {
        defer { ERR_clear_error() }
        let owned = try DER.object(of: der, freedBy: X509_free) { d2i_X509(nil, $0, $1) }
        certificate = Frozen(owned)
        (validSince, validUntil) = try owned.with { certificate throws(SigningError) in
            guard X509_get0_pubkey(certificate) != nil,
                X509_get_signature_info(certificate, nil, nil, nil, nil) == 1
            else { throw .unreadable(reason: "the certificate is of an unknown kind of key or signature") }
            return (
                try Certificate.seconds(X509_get0_notBefore(certificate)),
                try Certificate.seconds(X509_get0_notAfter(certificate))
            )
        }
        self.der = der
    }

    /// - Throws: If the text does not hold exactly one block of PEM, and that a certificate.
    package init(pem: String) throws(SigningError) {
        let block = try PEMBlock(within: pem)
        guard block.label == Certificate.label else {
            throw .unreadable(reason: "PEM of a \(block.label) instead of a certificate")
        }
        try self.init(der: block.bytes)
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) throws(SigningError) -> Int64 {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { throw .last() }
        return Int64(timegm(&parts))
    }

    /// Without a line feed at the end.
    package var pem: String { PEMBlock(label: Certificate.label, bytes: der).text }

    package func isFor(_ key: PublicKey) -> Bool {
        defer { ERR_clear_error() }
        return certificate.with { certificate in key.with { EVP_PKEY_eq(X509_get0_pubkey(certificate), $0) == 1 } }
    }

    /// Whether the issuer's name stands in it, byte for byte, and the issuer's key signed it.
    package func isIssued(by issuer: Certificate) -> Bool {
        defer { ERR_clear_error() }
        return certificate.with { certificate in
            issuer.certificate.with { issuer in
                X509Name.der(of: X509_get_issuer_name(certificate)) == X509Name.der(of: X509_get_subject_name(issuer))
                    && X509_verify(certificate, X509_get0_pubkey(issuer)) == 1
            }
        }
    }

    /// - Parameter id: The object identifier of an attribute, as numbers with dots.
    /// - Returns: The texts of the subject's attributes of that kind, in their order.
    package func subjectTexts(_ id: String) -> [String] {
        certificate.with { X509Name.texts(of: X509_get_subject_name($0), id) }
    }

    /// - Parameter id: An object identifier, as numbers with dots.
    /// - Returns: What the extension holds; nil if there is no such extension.
    package func extensionBytes(_ id: String) -> [UInt8]? {
        certificate.with { certificate in
            ObjectIdentifier.with(id) { object in
                let found = X509_get_ext(certificate, X509_get_ext_by_OBJ(certificate, object, -1))
                return found.map { DER.bytes(of: X509_EXTENSION_get_data($0)) }
            }
        }
    }

    /// The name of the subject, for the issuer's place in another.
    func withSubject<Result>(_ body: (OpaquePointer?) -> Result) -> Result {
        certificate.with { body(X509_get_subject_name($0)) }
    }
}
