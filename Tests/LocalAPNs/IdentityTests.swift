import Foundation
import Signing
import Testing

@testable import LocalAPNs

struct IdentityTests {
    var fixture = Fixture()

    private mutating func refusal(token: String) throws -> Refusal? {
        try fixture.refusal { $0.set("authorization", "bearer \(token)") }
    }

    @Test(arguments: [nil, "", "bearer", "basic abc"])
    mutating func `a request without a token is rejected`(value: String?) throws {
        #expect(try fixture.refusal { $0.set("authorization", value) } == .forbidden("MissingProviderToken"))
    }

    @Test mutating func `the word Bearer before the token may have capital letters`() throws {
        let token = try fixture.token()
        #expect(try fixture.refusal { $0.set("authorization", "Bearer \(token)") } == nil)
    }

    @Test(arguments: ["x", "a.b", "a.b.c", "e30.e30.e30", ".."])
    mutating func `a token that is not a JWT is invalid`(token: String) throws {
        #expect(try refusal(token: token) == .forbidden("InvalidProviderToken"))
    }

    @Test mutating func `a token of an unknown key is invalid`() throws {
        #expect(try refusal(token: try fixture.token(id: "KEY7654321")) == .forbidden("InvalidProviderToken"))
    }

    @Test mutating func `a token with another team than the key's is invalid`() throws {
        #expect(try refusal(token: try fixture.token(team: "TEAM654321")) == .forbidden("InvalidProviderToken"))
    }

    @Test mutating func `a token with the signature of another key is invalid`() throws {
        let token = try fixture.token(by: PrivateKey())
        #expect(try refusal(token: token) == .forbidden("InvalidProviderToken"))
    }

    @Test mutating func `a token with another algorithm is invalid`() throws {
        let token = try JWT.text(
            head: #"{"alg":"HS256","kid":"KEY1234567"}"#, claims: #"{"iss":"TEAM123456","iat":1767225600}"#,
            key: fixture.key)
        #expect(try refusal(token: token) == .forbidden("InvalidProviderToken"))
    }

    @Test mutating func `a token whose time is a string is accepted only if the server is lenient`() throws {
        let token = try JWT.text(
            head: #"{"alg":"ES256","kid":"KEY1234567"}"#, claims: #"{"iss":"TEAM123456","iat":"1767225600"}"#,
            key: fixture.key)
        #expect(try refusal(token: token) == .forbidden("InvalidProviderToken"))
        fixture.check.quirks.tokens = .lenient
        #expect(try refusal(token: token) == nil)
    }

    @Test mutating func `a signature in DER and standard Base64 is accepted only if the server is lenient`() throws {
        let signed = try fixture.token().split(separator: ".").prefix(2).joined(separator: ".")
        let signature = Data(try fixture.key.derSignature(for: Array(signed.utf8))).base64EncodedString()
        #expect(try refusal(token: "\(signed).\(signature)") == .forbidden("InvalidProviderToken"))
        fixture.check.quirks.tokens = .lenient
        #expect(try refusal(token: "\(signed).\(signature)") == nil)
    }

    @Test mutating func `a token more than five minutes in the future is invalid`() throws {
        #expect(try refusal(token: try fixture.token(issuedAt: fixture.now / 1000 + 300)) == nil)
        fixture.connection = ConnectionState()
        let token = try fixture.token(issuedAt: fixture.now / 1000 + 301)
        #expect(try refusal(token: token) == .forbidden("InvalidProviderToken"))
        fixture.check.quirks.futureToken = .tooMany
        #expect(try refusal(token: token) == .answer(status: 429, reason: "TooManyProviderTokenUpdates"))
    }

    @Test mutating func `a token older than an hour has expired`() throws {
        #expect(try refusal(token: try fixture.token(issuedAt: fixture.now / 1000 - 3600)) == nil)
        let token = try fixture.token(issuedAt: fixture.now / 1000 - 3601)
        #expect(try refusal(token: token) == .forbidden("ExpiredProviderToken"))
    }

    @Test mutating func `a key of the other environment is rejected`() throws {
        let key = fixture.addKey("KEYPRODUCT") { $0.environments = [.production] }
        let token = try fixture.token(by: key, id: "KEYPRODUCT")
        #expect(try refusal(token: token) == .forbidden("BadEnvironmentKeyIdInToken"))
        fixture.check.quirks.wrongEnvironmentKey = .key
        #expect(try refusal(token: token) == .forbidden("BadEnvironmentKeyInToken"))
    }

    @Test mutating func `a connection rejects tokens of a second team`() throws {
        let key = fixture.addKey("KEYOTHERTM") { $0.team = "TEAMOTHER1" }
        #expect(try fixture.refusal() == nil)
        let token = try fixture.token(by: key, id: "KEYOTHERTM", team: "TEAMOTHER1")
        #expect(try refusal(token: token) == .forbidden("InvalidProviderToken"))
    }

    @Test mutating func `a connection rejects tokens of a second key that is not related to the first`() throws {
        let key = fixture.addKey("KEYANOTHER")
        #expect(try fixture.refusal() == nil)
        let token = try fixture.token(by: key, id: "KEYANOTHER")
        #expect(try refusal(token: token) == .forbidden("UnrelatedKeyIdInToken"))
    }

    @Test mutating func `a related key may share the connection`() throws {
        let key = fixture.addKey("KEYRELATED") { $0.related = "KEY1234567" }
        #expect(try fixture.refusal() == nil)
        fixture.now += 20 * 60_000
        #expect(try refusal(token: try fixture.token(by: key, id: "KEYRELATED")) == nil)
    }

    @Test mutating func `the token of a connection may change only after twenty minutes`() throws {
        #expect(try refusal(token: try fixture.token()) == nil)
        fixture.now += 20 * 60_000 - 1
        let second = try fixture.token()
        #expect(try refusal(token: second) == .answer(status: 429, reason: "TooManyProviderTokenUpdates"))
        fixture.now += 1
        #expect(try refusal(token: second) == nil)
    }

    @Test mutating func `a token with a new signature counts as another token`() throws {
        let issuedAt = fixture.now / 1000
        #expect(try refusal(token: try fixture.token(issuedAt: issuedAt)) == nil)
        let refusal = try refusal(token: try fixture.token(issuedAt: issuedAt))
        #expect(refusal == .answer(status: 429, reason: "TooManyProviderTokenUpdates"))
    }

    @Test(arguments: [Quirks.Scope.connection, .key])
    mutating func `changes of the token are limited for each connection or for each key`(scope: Quirks.Scope) throws {
        fixture.check.quirks.tokenUpdates = scope
        #expect(try refusal(token: try fixture.token()) == nil)
        fixture.connection = ConnectionState(number: 2)
        #expect(try (refusal(token: try fixture.token()) == nil) == (scope == .connection))
    }

    @Test mutating func `an untrusted certificate ends the connection, or is answered 403 if a quirk says so`() throws {
        fixture.connection = ConnectionState(
            certificate: ClientCertificate(topics: [Fixture.bundle], isTrusted: false))
        #expect(try fixture.refusal() == .goAway(reason: "BadCertificate"))
        fixture.check.quirks.badCertificate = .answer
        #expect(try fixture.refusal() == .forbidden("BadCertificate"))
    }

    @Test mutating func `an expired certificate ends the connection`() throws {
        fixture.connection = ConnectionState(
            certificate: ClientCertificate(topics: [Fixture.bundle], validity: 0...Fixture.start - 1))
        #expect(try fixture.refusal() == .goAway(reason: "BadCertificate"))
    }

    @Test mutating func `a certificate of the other environment ends the connection`() throws {
        fixture.connection = ConnectionState(
            certificate: ClientCertificate(topics: [Fixture.bundle], environments: [.production]))
        #expect(try fixture.refusal() == .goAway(reason: "BadCertificateEnvironment"))
    }

    @Test mutating func `tokens are ignored on a connection with a certificate`() throws {
        fixture.connection = ConnectionState(certificate: ClientCertificate(topics: [Fixture.bundle]))
        #expect(try refusal(token: "x") == nil)
        #expect(try fixture.refusal { $0.set("authorization", nil) } == nil)
    }
}
