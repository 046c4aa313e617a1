import COpenSSL
import Glibc

/// An X.509 certificate (RFC 5280) with any kind of key that libcrypto supports.
package struct Certificate: Sendable {
    private let certificate: ImmutableObject
    package let der: [UInt8]
    /// The first second at which the certificate is valid, in seconds since 1970.
    package let validSince: Int64
    /// The last second at which the certificate is valid, in seconds since 1970.
    package let validUntil: Int64

    private static let label = "CERTIFICATE"

    /// - Throws: If the bytes are not exactly one certificate, its dates or its key are invalid, or libcrypto does not
    ///   support the kind of its key or signature.
    package init(der: [UInt8]) throws(SigningError) {
        defer { ERR_clear_error() }
        let owned = try DER.object(of: der, freedBy: X509_free) { d2i_X509(nil, $0, $1) }
        certificate = ImmutableObject(owned)
        (validSince, validUntil) = try owned.with { certificate throws(SigningError) in
            guard X509_get0_pubkey(certificate) != nil,
                X509_get_signature_info(certificate, nil, nil, nil, nil) == 1
            else {
                throw .unreadable(
                    reason: "the certificate's key is invalid, or its key or signature is of an unknown kind")
            }
            return (
                try Certificate.seconds(X509_get0_notBefore(certificate)),
                try Certificate.seconds(X509_get0_notAfter(certificate))
            )
        }
        self.der = der
    }

    /// - Throws: If the text does not contain exactly one PEM block, or if that block is not a certificate.
    package init(pem: String) throws(SigningError) {
        let block = try PEMBlock(within: pem)
        guard block.label == Certificate.label else {
            throw .unreadable(reason: "the PEM block is a \(block.label), not a certificate")
        }
        try self.init(der: block.bytes)
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) throws(SigningError) -> Int64 {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { throw .last() }
        return Int64(timegm(&parts))
    }

    /// The certificate as PEM, without a line feed at the end.
    package var pem: String { PEMBlock(label: Certificate.label, bytes: der).text }

    package func hasPublicKey(_ key: PublicKey) -> Bool {
        defer { ERR_clear_error() }
        return certificate.with { certificate in key.with { EVP_PKEY_eq(X509_get0_pubkey(certificate), $0) == 1 } }
    }

    /// Whether the certificate names the issuer, byte for byte, and the issuer's key signed it.
    package func isIssued(by issuer: Certificate) -> Bool {
        defer { ERR_clear_error() }
        return certificate.with { certificate in
            issuer.certificate.with { issuer in
                X509Name.der(of: X509_get_issuer_name(certificate)) == X509Name.der(of: X509_get_subject_name(issuer))
                    && X509_verify(certificate, X509_get0_pubkey(issuer)) == 1
            }
        }
    }

    /// The values of one attribute of the subject, in order. Only values of the types UTF8String, PrintableString and
    /// IA5String are included.
    ///
    /// - Parameter id: The attribute's object identifier, in dotted decimal.
    package func subjectValues(of id: String) -> [String] {
        certificate.with { X509Name.texts(of: X509_get_subject_name($0), id) }
    }

    /// - Parameter id: The extension's object identifier, in dotted decimal.
    /// - Returns: The extension's value; nil if the certificate has no such extension.
    package func extensionBytes(_ id: String) -> [UInt8]? {
        certificate.with { certificate in
            ObjectIdentifier.with(id) { object in
                let found = X509_get_ext(certificate, X509_get_ext_by_OBJ(certificate, object, -1))
                return found.map { DER.bytes(of: X509_EXTENSION_get_data($0)) }
            }
        }
    }

    /// Calls `body` with the subject's name. A certificate that the subject issues has this name as its issuer.
    func withSubject<Result>(_ body: (OpaquePointer?) -> Result) -> Result {
        certificate.with { body(X509_get_subject_name($0)) }
    }
}
