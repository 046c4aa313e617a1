/// The contents of a client's certificate.
package struct ClientCertificate: Sendable, Equatable {
    /// Bundle IDs, some with a suffix such as `.voip`. The subject's user ID comes first, if the certificate has one.
    package var topics: [String]
    package var environments = Set(Environment.allCases)
    /// Whether an authority that the server trusts issued the certificate.
    package var isTrusted = true
    /// The time in which the certificate is valid, in milliseconds since 1970.
    package var validity: ClosedRange<Int64> = 0...Int64.max
}
