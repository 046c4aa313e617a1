import CloudKitModel
import Time

/// The result of signing in.
package struct SignIn: Hashable, Sendable {
    /// The user's record name.
    package let user: String
    /// A web authentication token.
    package let webToken: String
    /// When the token expires.
    package let expires: Instant
    /// The name of the sign-in key that signed the assertion.
    package let keyName: String

    let keyID: String
}

extension Authenticator {
    /// Exchanges an assertion for a web authentication token of the app whose API token is in the query.
    ///
    /// - Parameter use: Called when the assertion has passed all checks. Records the assertion as used. Throws if the
    ///   assertion was used before, or cannot be recorded now.
    func signIn(
        _ request: AccessRequest, _ text: String, keepsSignedIn: Bool, at now: Instant,
        use: (Assertion) throws(AccessError) -> Void
    ) throws(AccessError) -> SignIn {
        let path = try request.parsedPath
        let app = try app(try CredentialQuery(request.rawQuery), path)
        let assertion = try Assertion(text)
        let signer = try signer(of: assertion)
        try signer.scope.check(path)
        try assertion.check(container: path.container, at: now)
        try use(assertion)
        let session = WebSession(
            user: assertion.subject, container: path.container, environment: path.environment, keyID: app.key.id,
            databases: signer.scope.databases, isReadOnly: signer.scope.isReadOnly, signedIn: now,
            keepsSignedIn: keepsSignedIn, expires: now
        ).renewed(at: now)
        return SignIn(
            user: session.user, webToken: WebToken.text(session, keys.secret), expires: session.expires,
            keyName: signer.name, keyID: signer.id)
    }

    private func signer(of assertion: Assertion) throws(AccessError) -> AccessKey {
        guard let key = keys.key(assertion.issuer), case .signIn(let publicKey) = key.kind else {
            throw .wrong("assertion.iss", "there is no sign-in key with this ID, or it was revoked")
        }
        guard assertion.isSigned(with: publicKey) else {
            throw .wrong("assertion", "the sign-in key did not sign it", of: key.id)
        }
        return key
    }
}
