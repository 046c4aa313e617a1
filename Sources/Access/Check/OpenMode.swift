import CloudKitModel

/// A gateway without a key file, for first steps on one machine: the web authentication token is the user's record
/// name.
///
/// The gateway listens on loopback only. But a web page in a browser of this machine reaches loopback too. So a request
/// is refused if it has a header `Host` or `Origin` that does not name this machine.
enum OpenMode {
    static let keyName = "(open)"

    static func caller(of request: AccessRequest) throws(AccessError) -> Caller {
        let path = try request.parsedPath
        try checkSite(of: request)
        let query = try CredentialQuery(request.rawQuery)
        guard try RequestSignature(request) == nil else {
            throw .notValid(Field.keyID, "the gateway has no keys; `belfry key create server` makes one")
        }
        guard query.webToken == nil else { return try caller(query.webToken ?? "", path) }
        guard path.database == .public else {
            throw .signInRequired(
                "only the public database can be read without a user; name a user, as in \(Field.webToken)=_alice",
                at: nil)
        }
        return caller(path, nil)
    }

    private static func caller(_ user: String, _ path: WebServicesPath) throws(AccessError) -> Caller {
        if let problem = UserName.problem(user) { throw .badRequest(Field.webToken, problem) }
        return caller(path, user)
    }

    private static func caller(_ path: WebServicesPath, _ user: String?) -> Caller {
        Caller(
            path: path, user: user, databases: user == nil ? [.public] : Set(DatabaseScope.allCases),
            keyName: keyName, webToken: user, isReadOnly: user == nil, keyID: nil, signInURL: nil)
    }

    /// - Throws: `ACCESS_DENIED` if the header `Host` or `Origin` does not name this machine; `BAD_REQUEST` if one of
    ///   them occurs more than once. A missing header is no error.
    private static func checkSite(of request: AccessRequest) throws(AccessError) {
        // DNS rebinding: a site can give its own name a loopback address. The header then contains the site's name.
        if let host = try request.single(Field.host), !isLoopback(host[...]) {
            throw AccessError(
                .accessDenied, Field.host,
                "the host is not this machine; a gateway without keys answers only requests to localhost")
        }
        if let origin = try request.single(Field.origin), !isLoopback(origin.drop { $0 != "/" }.drop { $0 == "/" }) {
            throw AccessError(
                .accessDenied, Field.origin,
                "the page is not from this machine; a gateway without keys answers only pages of localhost")
        }
    }

    /// - Parameter authority: A host name or address, with or without a port.
    private static func isLoopback(_ authority: Substring) -> Bool {
        let isBracketed = authority.first == "["
        let host = authority.prefix { $0 != (isBracketed ? "]" : ":") }.lowercased()
        return ["localhost", "[::1"].contains(host) || host.hasSuffix(".localhost") || isIPv4Loopback(host)
    }

    // RFC 1122, section 3.2.1.3: loopback is 127.0.0.0/8. A regular expression would slow down every request.
    private static func isIPv4Loopback(_ host: String) -> Bool {
        let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return parts.count == 4 && parts[0].elementsEqual("127".utf8)
            && parts.allSatisfy { (1...3).contains($0.count) && $0.allSatisfy(digits.contains) }
    }
}
