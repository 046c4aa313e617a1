import COpenSSL

/// Reads and writes the names of subjects and issuers.
enum X509Name {
    /// - Returns: Nil if `name` is nil, or if libcrypto fails.
    static func der(of name: OpaquePointer?) -> [UInt8]? {
        do throws(SigningError) { return try DER.bytes { i2d_X509_NAME(name, $0) } } catch { return nil }
    }

    static func texts(of name: OpaquePointer?, _ id: String) -> [String] {
        ObjectIdentifier.with(id) { object in
            var texts: [String] = []
            var index = X509_NAME_get_index_by_OBJ(name, object, -1)
            while index >= 0 {
                if let text = text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index))) { texts.append(text) }
                index = X509_NAME_get_index_by_OBJ(name, object, index)
            }
            return texts
        }
    }

    /// - Returns: nil for any type but UTF8String, PrintableString and IA5String.
    private static func text(_ value: UnsafePointer<ASN1_STRING>?) -> String? {
        guard [V_ASN1_UTF8STRING, V_ASN1_PRINTABLESTRING, V_ASN1_IA5STRING].contains(ASN1_STRING_type(value)) else {
            return nil
        }
        return String(decoding: DER.bytes(of: value), as: UTF8.self)
    }

    /// Adds an attribute in UTF-8. The length limits of X.520 are not enforced, because a topic may be longer.
    static func add(_ text: String, _ id: String, to name: OpaquePointer) throws(SigningError) {
        let bytes = Array(text.utf8)
        try SigningError.check(
            ObjectIdentifier.with(id) { object in
                X509_NAME_add_entry_by_OBJ(name, object, V_ASN1_UTF8STRING, bytes, Int32(bytes.count), -1, 0)
            })
    }
}

enum ObjectIdentifier {
    /// - Parameter id: The identifier in dotted decimal.
    static func with<Result>(_ id: String, _ body: (OpaquePointer) -> Result) -> Result {
        guard let object = OBJ_txt2obj(id, 1) else { preconditionFailure("\(id) is not an object identifier") }
        defer { ASN1_OBJECT_free(object) }
        return body(object)
    }
}
