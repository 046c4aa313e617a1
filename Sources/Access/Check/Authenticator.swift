import CloudKitModel
import Time

/// Finds out who makes a request, from the keys, the request and the time alone.
struct Authenticator {
    let keys: AccessKeys

    /// - Throws: ``AccessError`` if the request is malformed, if a credential is missing, wrong, or not valid for this
    ///   path or at this time, or if the path needs a user but the request has only an API token.
    func caller(of request: AccessRequest, at now: Instant) throws(AccessError) -> Caller {
        let path = try request.parsedPath
        let query = try CredentialQuery(request.rawQuery)
        if let signature = try RequestSignature(request) {
            guard query.isEmpty else {
                throw .badRequest(
                    Field.keyID,
                    "the request has a signature and also \(Field.apiToken) or \(Field.webToken); send only one")
            }
            return try caller(signing: request, signature, path, at: now)
        }
        guard query.apiToken != nil else {
            throw .notValid(Field.apiToken, "the request has neither an API token in its query nor a signature")
        }
        let app = try app(query, path)
        guard let text = query.webToken else { return try app.anonymousCaller(path) }
        return app.caller(try session(text, app, path, at: now), path, keys.secret, at: now)
    }

    /// Whether the query has the API token of a key, or a signature has the ID of a key. If not, ``caller(of:at:)``
    /// throws an error that does not depend on the body.
    func namesKey(_ request: AccessRequest) -> Bool {
        do throws(AccessError) {
            if let signature = try RequestSignature(request) { return keys.key(signature.keyID) != nil }
            return try CredentialQuery(request.rawQuery).apiToken.flatMap { keys.key(ofToken: $0) } != nil
        } catch { return false }
    }

    /// The app that the API token identifies.
    func app(_ query: CredentialQuery, _ path: WebServicesPath) throws(AccessError) -> App {
        guard let text = query.apiToken else {
            throw .notValid(Field.apiToken, "the request has no API token in its query")
        }
        guard let (key, token) = keys.key(ofToken: text) else {
            throw .wrong(Field.apiToken, "it is not a token of this gateway, or it was revoked")
        }
        try key.scope.check(path)
        return App(key: key, signInURL: token.signInURL)
    }

    /// The session of a web authentication token.
    ///
    /// - Throws: If the text is not a token of this gateway, or if the token is for another app, does not allow this
    ///   path, has expired, or was ended when its user signed out everywhere.
    private func session(
        _ text: String, _ app: App, _ path: WebServicesPath, at now: Instant
    ) throws(AccessError) -> WebSession {
        guard let session = WebToken.session(text, keys.secret) else {
            throw .wrong(Field.webToken, "it is not a token of this gateway; sign in again", of: app.key.id)
        }
        try session.check(app, path)
        guard session.expires > now else { throw .signInRequired("it has expired; sign in again", at: app.signInURL) }
        guard !keys.isSignedOut(session) else {
            throw .signInRequired("the user has signed out everywhere; sign in again", at: app.signInURL)
        }
        return session
    }
}

extension WebSession {
    /// - Throws: If the session is for another app, container or environment, or does not allow the path's database.
    fileprivate func check(_ app: App, _ path: WebServicesPath) throws(AccessError) {
        guard keyID == app.key.id else { throw .notValid(Field.webToken, "it was issued under another API token") }
        guard container == path.container, environment == path.environment else {
            throw .notValid(Field.webToken, "it was issued for another container or environment")
        }
        guard let database = path.database, !databases.contains(database) else { return }
        throw AccessError(.accessDenied, Field.database, "the sign-in key is not for the \(database.word) database")
    }
}

/// An app with a valid API token.
struct App {
    let key: AccessKey
    let signInURL: String?

    /// A client that has not signed in.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` unless the path names the public database.
    func anonymousCaller(_ path: WebServicesPath) throws(AccessError) -> Caller {
        guard path.database == .public else {
            throw .signInRequired("only the public database can be read without signing in", at: signInURL)
        }
        return Caller(
            path: path, user: nil, databases: [.public], keyName: key.name, webToken: nil, isReadOnly: true,
            keyID: key.id, signInURL: signInURL)
    }

    func caller(_ session: WebSession, _ path: WebServicesPath, _ secret: [UInt8], at now: Instant) -> Caller {
        Caller(
            path: path, user: session.user, databases: key.scope.databases.intersection(session.databases),
            keyName: key.name, webToken: WebToken.text(session.renewed(at: now), secret),
            isReadOnly: key.scope.isReadOnly || session.isReadOnly, keyID: key.id, signInURL: signInURL)
    }
}
