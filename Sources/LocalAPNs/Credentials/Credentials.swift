import Foundation
import Signing

/// The server's certificate authority, its key for provider tokens, and a client certificate. They are kept in a
/// folder, except a key file that the user named.
package struct Credentials: Sendable {
    /// The path of the certificate that clients must trust.
    package let authorityPath: String
    /// Signs provider tokens.
    package let key: PrivateKey
    package let keyID: String
    package let team: String
    package let keyPath: String
    package let clientPath: String
    package let clientKeyPath: String
    let authority: Authority

    /// Reads the keys and certificates. Makes missing files in the folder. Replaces certificates that expire soon, and
    /// a client certificate that is for another topic, key or authority.
    ///
    /// - Throws: ``StartError``, also if the key file that the user named does not exist.
    package init(_ options: LocalAPNs.Configuration, now: Date = Date()) throws(StartError) {
        let folder = options.folder
        try CredentialFile.makeFolder(folder)
        keyID = options.keyID
        team = options.team
        authorityPath = "\(folder)/ca.pem"
        keyPath = options.keyPath ?? "\(folder)/AuthKey_\(options.keyID).p8"
        clientPath = "\(folder)/client.pem"
        clientKeyPath = "\(folder)/client-key.pem"
        key = try Credentials.key(at: keyPath, makesIfMissing: options.keyPath == nil)
        authority = try Credentials.authority(in: folder, now)
        try renewClientCertificate(options.topic, now)
    }

    private static func key(at path: String, makesIfMissing: Bool = true) throws(StartError) -> PrivateKey {
        guard let text = try CredentialFile.read(path) else {
            guard makesIfMissing else { throw .missing(path: path) }
            let key = PrivateKey()
            let text = try Credentials.making(path) { () throws(SigningError) in try key.pem }
            try CredentialFile.write(text + "\n", to: path, isSecret: true)
            return key
        }
        do { return try PrivateKey(pem: text) } catch {
            throw .content(path: path, reason: "contains no P-256 private key in PEM")
        }
    }

    private static func authority(in folder: String, _ now: Date) throws(StartError) -> Authority {
        let (path, keyPath) = ("\(folder)/ca.pem", "\(folder)/ca-key.pem")
        if let text = try CredentialFile.read(path), try CredentialFile.read(keyPath) != nil {
            let certificate = try certificate(text, path)
            let key = try key(at: keyPath)
            if Date(timeIntervalSince1970: Double(certificate.validUntil)) > now.addingTimeInterval(400 * 86_400) {
                return Authority(certificate: certificate, key: key)
            }
        }
        return try newAuthority(path, keyPath, now)
    }

    private static func newAuthority(
        _ path: String, _ keyPath: String, _ now: Date
    ) throws(StartError) -> Authority {
        let (authority, keyText) = try Credentials.making(path) { () throws(SigningError) in
            let authority = try Authority(at: now)
            return (authority, try authority.keyText)
        }
        try CredentialFile.write(keyText + "\n", to: keyPath, isSecret: true)
        try CredentialFile.write(authority.certificate.pem + "\n", to: path, isSecret: false)
        return authority
    }

    private static func certificate(_ text: String, _ path: String) throws(StartError) -> Certificate {
        do { return try Certificate(pem: text) } catch {
            throw .content(path: path, reason: "holds no certificate in PEM")
        }
    }

    private static func making<Made>(
        _ path: String, _ make: () throws(SigningError) -> Made
    ) throws(StartError) -> Made {
        do throws(SigningError) { return try make() } catch {
            throw .content(path: path, reason: "cannot be made: \(error)")
        }
    }

    /// Makes a certificate for another server on this machine.
    ///
    /// - Returns: The paths of the certificate and its key, in PEM.
    package func makeServerCertificate(
        names: [String], now: Date = Date()
    ) throws(StartError) -> (certificate: String, key: String) {
        let folder = (authorityPath as NSString).deletingLastPathComponent
        let (path, keyPath) = ("\(folder)/server.pem", "\(folder)/server-key.pem")
        let key = try Credentials.key(at: keyPath)
        let certificate = try Credentials.making(path) { () throws(SigningError) in
            try authority.serverCertificate(for: key.publicKey, names: names, at: now)
        }
        try CredentialFile.write(certificate.pem + "\n", to: path, isSecret: false)
        return (path, keyPath)
    }

    /// Makes the client certificate if it is missing, expires soon, or is for another topic, key or authority.
    private func renewClientCertificate(_ topic: String, _ now: Date) throws(StartError) {
        let clientKey = try Credentials.key(at: clientKeyPath)
        if try isCurrent(clientKey, topic, now) { return }
        let certificate = try Credentials.making(clientPath) { () throws(SigningError) in
            try authority.clientCertificate(for: clientKey.publicKey, topic: topic, at: now)
        }
        try CredentialFile.write(certificate.pem + "\n", to: clientPath, isSecret: false)
    }

    private func isCurrent(_ key: PrivateKey, _ topic: String, _ now: Date) throws(StartError) -> Bool {
        guard let text = try CredentialFile.read(clientPath) else { return false }
        let certificate = try Credentials.certificate(text, clientPath)
        let identity = CertificateReader(authorities: [authority.certificate]).read(certificate.der)
        let soon = Int64(now.timeIntervalSince1970 * 1000) + 30 * 86_400_000
        return identity.isTrusted && identity.topics == [topic] && identity.validity.contains(soon)
            && certificate.hasPublicKey(key.publicKey)
    }
}
