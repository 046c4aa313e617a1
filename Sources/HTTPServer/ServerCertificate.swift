import NIOSSL

/// What a server proves itself with. TLS 1.2 or 1.3, HTTP/2 or HTTP/1.1, as the client wishes.
package struct ServerCertificate: Sendable {
    /// The server's own.
    package let own: NIOSSLCertificate?
    let configuration: TLSConfiguration

    /// - Parameter chain: The server's own certificate first, then those that signed it.
    /// - Throws: If the key does not belong to the certificate.
    package init(chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) throws {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        _ = try NIOSSLContext(configuration: configuration)
        (own, self.configuration) = (chain.first, configuration)
    }

    /// - Parameters:
    ///   - certificate: Certificates in PEM, the server's own first.
    ///   - key: A private key in PEM.
    package init(certificate: [UInt8], key: [UInt8]) throws {
        try self.init(
            chain: NIOSSLCertificate.fromPEMBytes(certificate), key: NIOSSLPrivateKey(bytes: key, format: .pem))
    }
}
