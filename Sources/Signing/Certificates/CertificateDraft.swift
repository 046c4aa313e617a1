import COpenSSL

/// The contents of a certificate that is not signed yet.
package struct CertificateDraft: Sendable {
    /// The purpose of the certificate's key.
    package enum Use: Sendable {
        /// Signs certificates of servers and clients, but not of other authorities.
        case authority
        case server([ServerName])
        case client
    }

    /// A name that clients connect to.
    package enum ServerName: Sendable {
        case dns(String)
        /// The bytes of an IP address: 4 for IPv4, 16 for IPv6.
        case address([UInt8])
    }

    /// The subject's attributes: object identifiers in dotted decimal, and their values.
    package var subject: [(id: String, text: String)]
    package var key: PublicKey
    package var use: Use
    /// The first second at which the certificate is valid, in seconds since 1970.
    package var validSince: Int64
    /// The last second at which the certificate is valid, in seconds since 1970.
    package var validUntil: Int64

    package init(
        subject: [(id: String, text: String)], key: PublicKey, use: Use, validSince: Int64, validUntil: Int64
    ) {
        self.subject = subject
        self.key = key
        self.use = use
        self.validSince = validSince
        self.validUntil = validUntil
    }

    /// Signs the draft. The certificate gets a random serial number.
    ///
    /// - Parameter issuer: The certificate of the signing key; nil makes a self-signed certificate.
    package func signed(by key: PrivateKey, of issuer: Certificate? = nil) throws(SigningError) -> Certificate {
        guard let certificate = X509_new() else { throw .last() }
        defer { X509_free(certificate) }
        // This is version 3, because X.509 counts versions from 0.
        try SigningError.check(X509_set_version(certificate, 2))
        try drawSerialNumber(of: certificate)
        try setNames(of: certificate, issuer)
        try setValidity(of: certificate)
        try SigningError.check(self.key.with { X509_set_pubkey(certificate, $0) })
        try addExtensions(to: certificate)
        try key.sign(certificate: certificate)
        return try Certificate(der: try DER.bytes { i2d_X509(certificate, $0) })
    }

    /// A serial number is positive and has at most 20 bytes, including the sign (RFC 5280, section 4.1.2.2).
    private static let serialNumberBits: Int32 = 159

    private func drawSerialNumber(of certificate: OpaquePointer) throws(SigningError) {
        guard let number = BN_new() else { throw .last() }
        defer { BN_free(number) }
        try SigningError.check(
            BN_rand(number, CertificateDraft.serialNumberBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY))
        guard BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil else { throw .last() }
    }

    private func setNames(of certificate: OpaquePointer, _ issuer: Certificate?) throws(SigningError) {
        guard let name = X509_NAME_new() else { throw .last() }
        defer { X509_NAME_free(name) }
        for (id, text) in subject { try X509Name.add(text, id, to: name) }
        try SigningError.check(X509_set_subject_name(certificate, name))
        try SigningError.check(
            issuer.map { $0.withSubject { X509_set_issuer_name(certificate, $0) } }
                ?? X509_set_issuer_name(certificate, name))
    }

    private func setValidity(of certificate: OpaquePointer) throws(SigningError) {
        guard ASN1_TIME_set(X509_getm_notBefore(certificate), Int(validSince)) != nil,
            ASN1_TIME_set(X509_getm_notAfter(certificate), Int(validUntil)) != nil
        else { throw .last() }
    }

    private func addExtensions(to certificate: OpaquePointer) throws(SigningError) {
        for (kind, value) in extensions {
            guard let made = X509V3_EXT_nconf_nid(nil, nil, kind, value) else { throw .last() }
            defer { X509_EXTENSION_free(made) }
            try SigningError.check(X509_add_ext(certificate, made, -1))
        }
        if case .server(let names) = use { try ServerNames(names).add(to: certificate) }
    }

    /// The extensions of the certificate except its server names, with values in the syntax of x509v3_config(5).
    private var extensions: [(kind: Int32, value: String)] {
        switch use {
        case .authority:
            [(NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign")]
        case .server: [(NID_ext_key_usage, "serverAuth")]
        case .client: [(NID_ext_key_usage, "clientAuth")]
        }
    }
}
