import COpenSSL

/// The subject alternative names of a server's certificate (RFC 5280, section 4.2.1.6).
struct ServerNames {
    private let names: OwnedPointer

    /// - Throws: If a DNS name is not ASCII, or memory runs out.
    init(_ names: [CertificateDraft.ServerName]) throws(SigningError) {
        let list = try OwnedPointer(GENERAL_NAMES_new(), freedBy: GENERAL_NAMES_free)
        for name in names { try ServerNames.append(name, to: list) }
        self.names = list
    }

    private static func append(_ name: CertificateDraft.ServerName, to list: OwnedPointer) throws(SigningError) {
        guard let general = GENERAL_NAME_new() else { throw .last() }
        do throws(SigningError) {
            try set(general, name)
            try SigningError.check(list.with { general_names_push($0, general) })
        } catch {
            GENERAL_NAME_free(general)
            throw error
        }
    }

    private static func set(
        _ general: UnsafeMutablePointer<GENERAL_NAME>, _ name: CertificateDraft.ServerName
    ) throws(SigningError) {
        switch name {
        case .dns(let text):
            guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
                throw .unreadable(reason: "the name \(text) has characters that are not ASCII")
            }
            GENERAL_NAME_set0_value(general, GEN_DNS, try string(V_ASN1_IA5STRING, Array(text.utf8)))
        case .address(let bytes):
            GENERAL_NAME_set0_value(general, GEN_IPADD, try string(V_ASN1_OCTET_STRING, bytes))
        }
    }

    private static func string(
        _ kind: Int32, _ bytes: [UInt8]
    ) throws(SigningError) -> UnsafeMutablePointer<ASN1_STRING> {
        guard let string = ASN1_STRING_type_new(kind) else { throw .last() }
        guard ASN1_STRING_set(string, bytes, Int32(bytes.count)) == 1 else {
            ASN1_STRING_free(string)
            throw .last()
        }
        return string
    }

    func add(to certificate: OpaquePointer) throws(SigningError) {
        try SigningError.check(
            names.with { names in
                X509_add1_ext_i2d(
                    certificate, NID_subject_alt_name, UnsafeMutableRawPointer(names), 0, UInt(X509V3_ADD_DEFAULT))
            })
    }
}
