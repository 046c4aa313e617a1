import CloudKitModel

/// Who makes a request, and what the request may do.
package struct Caller: Hashable, Sendable {
    /// The container, environment and database of the request. The credentials allow them.
    package let path: WebServicesPath
    /// The user's record name; nil for a client that has not signed in. Such a client may only read the public
    /// database.
    package let user: String?
    /// All databases that the client's credentials allow.
    package let databases: Set<DatabaseScope>
    /// Whether the user is known and the credentials allow changes.
    package var canWrite: Bool { user != nil && !isReadOnly }
    /// The name of the key, for the access log; `(open)` in open mode.
    package let keyName: String
    /// The next web authentication token, for the header `X-Apple-CloudKit-Web-Auth-Token`; nil if the request came
    /// without such a token.
    package let webToken: String?

    let isReadOnly: Bool
    /// The ID of the key; nil in open mode.
    let keyID: String?
    let signInURL: String?

    /// The user's record name, for a request that needs a user.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` for a client that has not signed in.
    package func requireUser() throws(AccessError) -> String {
        guard let user else { throw .signInRequired("this request needs a user", at: signInURL) }
        return user
    }

    /// The user's record name, for a request that changes something.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` for a client that has not signed in. `ACCESS_DENIED` if one of these keys is
    ///   read-only: the API token, the key that signed the request, or the key that signed the user's assertion.
    package func requireWriting() throws(AccessError) -> String {
        let user = try requireUser()
        let keys = webToken == nil ? "the key \(keyName)" : "the key \(keyName) or the sign-in key"
        guard !isReadOnly else { throw AccessError(.accessDenied, nil, "\(keys) is read-only") }
        return user
    }
}

extension AccessError {
    static func signInRequired(_ problem: String, at url: String?) -> AccessError {
        AccessError(.authenticationRequired, Field.webToken, problem, redirectURL: url)
    }
}
