import NIOSSL

/// The certificate and the private key of a server, for TLS 1.2 or later.
package struct ServerCertificate: Sendable {
    /// The server's own certificate; nil if the chain is empty.
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
