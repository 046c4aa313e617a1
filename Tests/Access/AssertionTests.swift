import CloudKitModel
import Foundation
import Signing
import TestSupport
import Testing
import Time

@testable import Access

@Suite struct AssertionTests {
    private static let path = "/auth/1/\(Gate.container)/development/signin"
    private static let seconds = Gate.now.microseconds / 1_000_000

    /// A gate with an app, and a sign-in service that signs any claims.
    private struct Service {
        var gate = Gate()
        let key = PrivateKey()
        let app: (key: AccessKey, token: String)
        let id: String

        init(_ scope: KeyScope = KeyScope(container: nil)) throws {
            app = try gate.createAPI()
            id = try gate.create(.signIn(key.publicKey), "accounts", scope).id
        }

        func assertion(_ changes: [String: String?] = [:], head: String = #"{"alg":"ES256"}"#) throws -> String {
            var claims: [String: String] = [
                "iss": "\"\(id)\"", "sub": "\"_alice\"", "aud": "\"\(Gate.container)\"", "exp": "\(seconds + 60)",
                "jti": "\"1\"",
            ]
            for (name, value) in changes { claims[name] = value }
            let text = "{" + claims.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
            let signed = [head, text].map { Base64URL.text(of: $0.utf8) }.joined(separator: ".")
            return "\(signed).\(Base64URL.text(of: try key.signature(for: Array(signed.utf8))))"
        }

        func signIn(
            _ assertion: String, path: String = AssertionTests.path, keepsSignedIn: Bool = false,
            at now: Instant = Gate.now
        ) throws -> SignIn {
            try Authenticator(keys: gate.keys).signIn(
                Gate.request(path, "ckAPIToken=\(app.token)"), assertion, keepsSignedIn: keepsSignedIn, at: now
            ) { _ in }
        }

        func refusal(
            _ changes: [String: String?] = [:], head: String = #"{"alg":"ES256"}"#, at now: Instant = Gate.now
        ) throws -> String? {
            do {
                _ = try signIn(try assertion(changes, head: head), at: now)
                return nil
            } catch let error as AccessError { return error.summary }
        }
    }

    @Test(arguments: [(false, 1_800), (true, 14 * 86_400)])
    func `an assertion is exchanged for a token of its user`(keepsSignedIn: Bool, life: Int) throws {
        let service = try Service()
        let signIn = try service.signIn(try service.assertion(), keepsSignedIn: keepsSignedIn)
        #expect(signIn.user == "_alice" && signIn.expires == Gate.now + .seconds(life) && signIn.keyName == "accounts")
        let request = Gate.request(Gate.path(), query(service.app.token, signIn.webToken))
        #expect(try service.gate.caller(request).requireWriting() == "_alice")
        #expect(service.gate.refusal(request, at: signIn.expires)?.code == .authenticationRequired)
    }

    @Test func `the example service in Python and openssl signs users in`() throws {
        let shell = Shell(folder: try Folder())
        var gate = Gate()
        let (_, token) = try gate.createAPI()
        let id = try gate.create(.signIn(try PublicKey(pem: try shell.makeKey("accounts.pem"))), "accounts").id
        // A signature consists of two numbers of 32 bytes. A small number is shorter in DER, so the service must add
        // zero bytes. About one signature in 256 has such a number.
        let script =
            "import sys; sys.path.insert(0, '\(Python.clients)'); from sign_in import assertion; "
            + "[print(assertion('accounts.pem', '\(id)', '\(Gate.container)', '_user%d' % n)) for n in range(\(Tier.value(8, full: 600)))]"
        let assertions = try shell.text("\(Python.program) -c \"\(script)\"").split(separator: "\n").map(String.init)
        for (index, assertion) in assertions.enumerated() {
            let request = Gate.request(Self.path, "ckAPIToken=\(token)")
            let signIn = try Authenticator(keys: gate.keys).signIn(
                request, assertion, keepsSignedIn: false, at: Instant.wall()
            ) { _ in }
            #expect(signIn.user == "_user\(index)")
        }
    }

    private static let claims: [(change: [String: String?], expected: String?)] = [
        ([:], nil), (["iat": "1", "name": "{}"], nil), (["aud": "[\"x\",\"\(Gate.container)\"]"], nil),
        (["exp": "\(seconds + 330)"], nil), (["exp": "\(seconds + 331)"], "401 assertion.exp"),
        (["exp": "\(seconds).5"], nil), (["exp": "\(seconds)"], "401 assertion.exp"),
        (["exp": "\(seconds - 1)"], "401 assertion.exp"),
        (["exp": nil], "400 assertion.exp"), (["exp": "\"1\""], "400 assertion.exp"),
        (["exp": "1e300"], "400 assertion.exp"),
        (["exp": "-1"], "400 assertion.exp"), (["nbf": "\(seconds + 30)"], nil),
        (["nbf": "\(seconds + 31)"], "401 assertion.nbf"),
        (["nbf": "null"], "400 assertion.nbf"),
        (["aud": "\"iCloud.com.example.Other\""], "401 assertion.aud"), (["aud": "[]"], "401 assertion.aud"),
        (["aud": nil], "400 assertion.aud"), (["aud": "7"], "400 assertion.aud"),
        (["sub": nil], "400 assertion.sub"), (["sub": "\"\""], "400 assertion.sub"),
        (["sub": "\"a\\u0000\""], "400 assertion.sub"),
        (["sub": "\"_defaultOwner\""], "400 assertion.sub"), (["sub": "\"__defaultOwner__\""], "400 assertion.sub"),
        (["sub": "\"" + String(repeating: "a", count: 256) + "\""], "400 assertion.sub"),
        (["jti": nil], "400 assertion.jti"), (["jti": "\"\""], "400 assertion.jti"),
        (["jti": "\"" + String(repeating: "a", count: 256) + "\""], "400 assertion.jti"),
        (["iss": nil], "400 assertion.iss"), (["iss": "\"accounts\""], "401 assertion.iss"),
        (["pad": "\"" + String(repeating: "a", count: 9_000) + "\""], "400 assertion"),
    ]

    @Test(arguments: claims.indices)
    func `the known claims and the assertion's length are checked, and other claims are ignored`(index: Int) throws {
        let (change, expected) = Self.claims[index]
        #expect(try Service().refusal(change) == expected, "\(change)")
    }

    @Test(arguments: [
        (#"{"alg":"none"}"#, "400 assertion.alg"), (#"{"alg":"HS256"}"#, "400 assertion.alg"),
        ("{}", "400 assertion.alg"),
        ("[]", "400 assertion.alg"), ("", "400 assertion"), ("{", "400 assertion"),
        (#"{"alg":"ES256","alg":"none"}"#, "400 assertion"), (#"{"alg":"ES256","crit":["b64"]}"#, "400 assertion.crit"),
        (#"{"alg":"ES256","kid":"x","typ":"JWT"}"#, nil),
    ])
    func `the header must say ES256 and have no critical extensions`(head: String, expected: String?) throws {
        #expect(try Service().refusal(head: head) == expected)
    }

    @Test func `an assertion with any character changed is refused`() throws {
        let service = try Service()
        let text = Array(try service.assertion())
        for index in text.indices where text[index] != "." {
            var changed = text
            changed[index] = text[index] == "A" ? "Q" : "A"
            #expect(throws: AccessError.self, "\(index)") { try service.signIn(String(changed)) }
        }
        for wrong in ["", ".", "..", "a.b.c.d", String(text.dropLast(2)), String(text) + ".", String(text) + "="] {
            #expect(throws: AccessError.self, "\(wrong)") { try service.signIn(wrong) }
        }
    }

    @Test func `a sign-in key outside its scope, a server-to-server key and a revoked key sign no users in`() throws {
        var service = try Service(KeyScope(container: Gate.container, environments: [.production]))
        let outside = #expect(throws: AccessError.self) { try service.signIn(try service.assertion()) }
        #expect(outside?.summary == "403 environment")
        let server = try service.gate.create(
            .server(service.key.publicKey, user: "_x"), "server", Gate.publicScope, seed: 8)
        #expect(try service.refusal(["iss": "\"\(server.id)\""]) == "401 assertion.iss")
        _ = try service.gate.keys.revoke("accounts")
        #expect(try service.refusal() == "401 assertion.iss")
    }

    @Test func `sessions have the limits of the sign-in key`() throws {
        let service = try Service(KeyScope(container: nil, databases: [.private], isReadOnly: true))
        let signIn = try service.signIn(try service.assertion())
        let query = query(service.app.token, signIn.webToken)
        let caller = try service.gate.caller(Gate.request(Gate.path(), query))
        #expect(!caller.canWrite && caller.databases == [.private])
        #expect(service.gate.refusal(Gate.request(Gate.path("public"), query))?.summary == "403 database")
    }

    @Test func `an assertion is accepted once; while too many are remembered, a new one is refused`() throws {
        let service = try Service()
        var used = UsedAssertions(countMax: 2)
        func assertion(_ id: String) throws -> Assertion { try Assertion(try service.assertion(["jti": "\"\(id)\""])) }
        func refusal(_ id: String, at now: Instant = Gate.now) throws -> String? {
            let assertion = try assertion(id)
            do throws(AccessError) {
                try used.use(assertion, at: now)
                return nil
            } catch { return error.summary }
        }
        #expect(try refusal("1") == nil)
        #expect(try refusal("1") == "401 assertion.jti")
        #expect(try refusal("2") == nil)
        #expect(try refusal("3") == "503 -")
        #expect(try refusal("3", at: Gate.now + .seconds(60)) == nil)
    }
}
