import CloudKitModel
import JSON
import Signing
import Time

/// The statement of the operator's sign-in service about a user: a JWT (RFC 7519) in compact form, signed with ES256
/// (RFC 7518).
struct Assertion {
    /// The ID of the sign-in key.
    let issuer: String
    /// The user's record name.
    let subject: String
    let audience: [String]
    let expires: Instant
    let notBefore: Instant?
    /// Distinguishes the assertions of one issuer.
    let id: String

    private let signed: [UInt8]
    private let signature: [UInt8]

    private static let bytesMax = 8 << 10
    private static let idBytesMax = 255
    private static let malformed =
        "it is not a JWT of three parts in Base64URL (RFC 7515), or it has more than \(bytesMax) bytes"

    /// - Throws: `BAD_REQUEST` if the text is too long or not a JWT, if a claim is missing or malformed, or if the header
    ///   does not name ES256 or has critical extensions.
    init(_ text: String) throws(AccessError) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= Assertion.bytesMax, parts.count == 3, let head = Base64URL.bytes(of: parts[0]),
            let claims = Base64URL.bytes(of: parts[1]), let signature = Base64URL.bytes(of: parts[2])
        else { throw .badRequest(Field.assertion, Assertion.malformed) }
        signed = Array("\(parts[0]).\(parts[1])".utf8)
        self.signature = signature
        try ClaimSet.read(head) { claims throws(AccessError) in try Assertion.check(head: claims) }
        (issuer, subject, audience, id, expires, notBefore) = try ClaimSet.read(claims) { claims throws(AccessError) in
            (
                try claims.text("iss"), try claims.text("sub"), try claims.strings("aud"), try claims.text("jti"),
                try claims.time("exp"), try claims.optionalTime("nbf")
            )
        }
        try checkNames()
    }

    private func checkNames() throws(AccessError) {
        if let problem = UserName.problem(subject) { throw .badRequest("assertion.sub", problem) }
        guard id.utf8.count <= Assertion.idBytesMax else {
            throw .badRequest("assertion.jti", "it has more than \(Assertion.idBytesMax) bytes")
        }
    }

    // RFC 7515, section 4.1.11: a reader refuses critical extensions that it does not know.
    private static func check(head: ClaimSet) throws(AccessError) {
        guard try head.text("alg") == "ES256" else { throw .badRequest("assertion.alg", "it is not ES256") }
        guard !head.has("crit") else {
            throw .badRequest("assertion.crit", "the assertion has critical extensions, but Belfry supports none")
        }
    }

    func isSigned(with key: PublicKey) -> Bool { key.isValid(rawSignature: signature, for: signed) }

    /// The allowed difference between the clocks of two machines.
    private static let clockDifferenceMax = Duration.seconds(30)
    static let lifeMax = Duration.seconds(5 * 60)

    /// - Throws: `AUTHENTICATION_FAILED` if the assertion is for another container, has expired, expires too far in the
    ///   future, or is not valid yet.
    func check(container: String, at now: Instant) throws(AccessError) {
        guard audience.contains(container) else {
            throw .notValid("assertion.aud", "it does not name the container of the path")
        }
        guard expires > now else { throw .notValid("assertion.exp", "the assertion has expired") }
        guard expires <= now.advanced(by: Assertion.lifeMax + Assertion.clockDifferenceMax) else {
            throw .notValid("assertion.exp", "the assertion expires more than 5 minutes from now")
        }
        guard (notBefore ?? now) <= now.advanced(by: Assertion.clockDifferenceMax) else {
            throw .notValid("assertion.nbf", "the assertion is not valid yet")
        }
    }
}

extension AccessError {
    /// An error for a credential that is missing, or is not valid for this request or at this time. The error does not
    /// count as a failed attempt.
    static func notValid(_ field: String, _ problem: String) -> AccessError {
        AccessError(.authenticationFailed, field, problem)
    }
}

/// The members of a JWT's header or claims.
private struct ClaimSet {
    private let json: JSONValue

    static func read<Value>(
        _ text: [UInt8], _ body: (ClaimSet) throws(AccessError) -> Value
    ) throws(AccessError) -> Value {
        var parser = JSONParser(limits: JSONLimits(depthMax: 8, refusesDuplicateKeys: true))
        let result: Result<Value, AccessError> = text.withUnsafeBytes { bytes in
            do throws(JSONError) {
                let claims = ClaimSet(json: try parser.parse(bytes))
                do throws(AccessError) { return .success(try body(claims)) } catch { return .failure(error) }
            } catch { return .failure(.badRequest(Field.assertion, "a part is not JSON: \(error)")) }
        }
        return try result.get()
    }

    func has(_ name: String) -> Bool { json.member(name) != nil }

    func text(_ name: String) throws(AccessError) -> String {
        guard let text = json.member(name)?.string, !text.isEmpty else {
            throw wrong(name, "it is missing, empty or not a string")
        }
        return text
    }

    /// A member that is a string or a list of strings. Other elements of the list are ignored.
    func strings(_ name: String) throws(AccessError) -> [String] {
        guard let value = json.member(name), value.isArray else { return [try text(name)] }
        return value.elements.compactMap(\.string)
    }

    /// RFC 7519, section 2: seconds since 1970. A fraction is allowed.
    func time(_ name: String) throws(AccessError) -> Instant {
        guard let seconds = json.member(name)?.double, (0...100_000_000_000).contains(seconds) else {
            throw wrong(name, "it is missing, or is not a time in seconds since 1970")
        }
        return Instant(microseconds: Int64(seconds * 1_000_000))
    }

    func optionalTime(_ name: String) throws(AccessError) -> Instant? { has(name) ? try time(name) : nil }

    private func wrong(_ name: String, _ problem: String) -> AccessError {
        .badRequest("assertion.\(name)", problem)
    }
}
