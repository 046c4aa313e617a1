import CloudKitModel

/// A gateway without a key file, for first steps on one machine: the web authentication token is the user's record
/// name.
///
/// The gateway listens on loopback only. But a web page in a browser of this machine reaches loopback too, so requests
/// that come from pages of other sites are refused.
enum OpenMode {
    static let keyName = "(open)"

    static func caller(of request: AccessRequest) throws(AccessError) -> Caller {
        let place = try WebServicesPath(request.path)
        try checkSite(of: request)
        let query = try CredentialQuery(request.rawQuery)
        guard try RequestSignature(request) == nil else {
            throw .stale(Field.keyID, "the gateway has no keys; `belfry key create server` makes one")
        }
        guard query.webToken == nil else { return try caller(query.webToken ?? "", place) }
        guard place.database == .public else {
            throw .signInRequired("name a user, as in \(Field.webToken)=_alice: the gateway has no keys", at: nil)
        }
        return caller(place, nil)
    }

    private static func caller(_ user: String, _ place: WebServicesPath) throws(AccessError) -> Caller {
        guard NameRule.user.accepts(user) else { throw .badRequest(Field.webToken, NameRule.user.rule) }
        return caller(place, user)
    }

    private static func caller(_ place: WebServicesPath, _ user: String?) -> Caller {
        Caller(
            place: place, user: user, databases: user == nil ? [.public] : Set(DatabaseScope.allCases),
            keyName: keyName, webToken: user, isReadOnly: user == nil, keyID: nil, signInURL: nil)
    }

    /// - Throws: `ACCESS_DENIED` if the request names another host than this machine, or a page of another host sent
    ///   it.
    private static func checkSite(of request: AccessRequest) throws(AccessError) {
        // A site can give its own name the address of loopback (DNS rebinding); then the host is the site's.
        if let host = try request.single(Field.host), !isLoopback(host[...]) {
            throw AccessError(.accessDenied, Field.host, "a gateway without keys answers only localhost")
        }
        if let origin = try request.single(Field.origin), !isLoopback(origin.drop { $0 != "/" }.drop { $0 == "/" }) {
            throw AccessError(.accessDenied, Field.origin, "a gateway without keys answers only pages of localhost")
        }
    }

    /// - Parameter authority: A host name or address, with or without a port.
    private static func isLoopback(_ authority: Substring) -> Bool {
        let isBracketed = authority.first == "["
        let host = authority.prefix { $0 != (isBracketed ? "]" : ":") }.lowercased()
        return ["localhost", "[::1"].contains(host) || host.hasSuffix(".localhost") || isIPv4Loopback(host)
    }

    // RFC 1122, section 3.2.1.3: all of 127.0.0.0/8. Every request comes here, so no regular expression is used.
    private static func isIPv4Loopback(_ host: String) -> Bool {
        let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return parts.count == 4 && parts[0].elementsEqual("127".utf8)
            && parts.allSatisfy { (1...3).contains($0.count) && $0.allSatisfy(digits.contains) }
    }
}
