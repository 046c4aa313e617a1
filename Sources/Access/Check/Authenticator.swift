import CloudKitModel
import Time

/// Finds out who makes a request, from the keys, the request and the time alone.
struct Authenticator {
    let keys: AccessKeys

    /// - Throws: ``AccessError`` for a request that the keys do not allow, or that needs a user and has none.
    func caller(of request: AccessRequest, at now: Instant) throws(AccessError) -> Caller {
        let place = try WebServicesPath(request.path)
        let query = try CredentialQuery(request.rawQuery)
        if let signature = try RequestSignature(request) {
            guard query.isEmpty else {
                throw .badRequest(Field.keyID, "a signed request has no \(Field.apiToken) and no \(Field.webToken)")
            }
            return try caller(signing: request, signature, place, at: now)
        }
        let app = try app(query, place)
        guard let text = query.webToken else { return try app.anonymous(place) }
        return app.caller(try session(text, app, place, at: now), place, keys.secret, at: now)
    }

    /// The app that the API token identifies.
    func app(_ query: CredentialQuery, _ place: WebServicesPath) throws(AccessError) -> App {
        guard let text = query.apiToken else {
            throw .stale(Field.apiToken, "an API token in the query, or a signature in the headers, is required")
        }
        guard let (key, token) = keys.key(ofToken: text) else {
            throw .wrong(Field.apiToken, "it is not a token of this gateway, or it was revoked")
        }
        try key.scope.check(place)
        return App(key: key, signInURL: token.signInURL)
    }

    /// The session of a web authentication token that is valid in this place now.
    private func session(
        _ text: String, _ app: App, _ place: WebServicesPath, at now: Instant
    ) throws(AccessError) -> WebSession {
        guard let session = WebToken.session(text, keys.secret) else {
            throw .wrong(Field.webToken, "it is not a token of this gateway; sign in again", of: app.key.id)
        }
        try session.check(app, place)
        guard session.expires > now else { throw .signInRequired("it has expired; sign in again", at: app.signInURL) }
        guard !keys.isSignedOut(session) else {
            throw .signInRequired("the user has signed out everywhere; sign in again", at: app.signInURL)
        }
        return session
    }
}

extension WebSession {
    /// - Throws: If the session is for another app or another place.
    fileprivate func check(_ app: App, _ place: WebServicesPath) throws(AccessError) {
        guard keyID == app.key.id else { throw .stale(Field.webToken, "it was issued under another API token") }
        guard container == place.container, environment == place.environment else {
            throw .stale(Field.webToken, "it was issued for another container or environment")
        }
        guard let database = place.database, !databases.contains(database) else { return }
        throw AccessError(.accessDenied, Field.database, "the sign-in key is not for the \(database.word) database")
    }
}

/// An app with a valid API token.
struct App {
    let key: AccessKey
    let signInURL: String?

    /// A client that has not signed in.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` unless it asks for the public database.
    func anonymous(_ place: WebServicesPath) throws(AccessError) -> Caller {
        guard place.database == .public else {
            throw .signInRequired("only the public database can be read without signing in", at: signInURL)
        }
        return Caller(
            place: place, user: nil, databases: [.public], keyName: key.name, webToken: nil, isReadOnly: true,
            keyID: key.id, signInURL: signInURL)
    }

    func caller(_ session: WebSession, _ place: WebServicesPath, _ secret: [UInt8], at now: Instant) -> Caller {
        Caller(
            place: place, user: session.user, databases: key.scope.databases.intersection(session.databases),
            keyName: key.name, webToken: WebToken.text(session.renewed(at: now), secret),
            isReadOnly: key.scope.isReadOnly || session.isReadOnly, keyID: key.id, signInURL: signInURL)
    }
}
