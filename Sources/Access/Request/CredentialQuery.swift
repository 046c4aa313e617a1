/// The credentials in a query. Other parameters, such as CloudKit JS' `ckjsVersion`, are ignored.
struct CredentialQuery {
    private(set) var apiToken: String?
    /// The value of `ckWebAuthToken`, or of `ckSession`, which older clients send.
    private(set) var webToken: String?

    /// Longer than every token that Belfry issues. The longest ones contain a user's record name, which has at most 255
    /// bytes.
    private static let tokenBytesMax = 2048

    /// - Throws: `BAD_REQUEST` if a credential occurs twice, is empty, too long or not percent-encoded UTF-8, or if
    ///   `ckSession` differs from `ckWebAuthToken`.
    init(_ rawQuery: String) throws(AccessError) {
        var found: [String: String] = [:]
        for parameter in rawQuery.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { Substring($0) }
            guard let name = PercentText.decoded(parts[0]), CredentialQuery.names.contains(name) else { continue }
            guard found[name] == nil else { throw .badRequest(name, "the parameter occurs more than once") }
            found[name] = try CredentialQuery.token(parts.count == 2 ? parts[1] : "", name)
        }
        apiToken = found[Field.apiToken]
        webToken = found[Field.webToken] ?? found[Field.session]
        guard found[Field.session] == nil || found[Field.session] == webToken else {
            throw .badRequest(Field.session, "it differs from \(Field.webToken); send one of them")
        }
    }

    private static let names = [Field.apiToken, Field.webToken, Field.session]

    private static func token(_ text: Substring, _ name: String) throws(AccessError) -> String {
        guard let token = PercentText.decoded(text) else {
            throw .badRequest(name, "a '%' is not followed by two hexadecimal digits, or the value is not UTF-8")
        }
        guard (1...tokenBytesMax).contains(token.utf8.count) else {
            throw .badRequest(name, "it has \(token.utf8.count) bytes; a token has 1 to \(tokenBytesMax)")
        }
        return token
    }

    var isEmpty: Bool { apiToken == nil && webToken == nil }
}
