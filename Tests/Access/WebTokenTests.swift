import CloudKitModel
import Foundation
import Signing
import Testing
import Time

@testable import Access

@Suite struct WebTokenTests {
    private static let minute = Duration.seconds(60)

    @Test func `a web token is accepted as ckWebAuthToken and as ckSession, percent-encoded or not`() throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI()
        let webToken = gate.webToken(key)
        for query in [
            query(token, webToken), "ckWebAuthToken=\(webToken)&ckAPIToken=\(token)",
            "ckAPIToken=\(token)&ckSession=\(webToken)",
        ] {
            let caller = try gate.caller(Gate.request(Gate.path(), query))
            #expect(caller.user == "_alice" && caller.canWrite && caller.databases == Set(DatabaseScope.allCases))
            #expect(try caller.requireWriting() == "_alice")
        }
    }

    @Test func `a web token has the characters and the length that some clients require`() throws {
        var gate = Gate()
        let (key, _) = try gate.createAPI()
        for user in ["_a", String(repeating: "u", count: 255), "_\"quoted\\"] {
            let text = gate.webToken(key, user: user)
            #expect(text.wholeMatch(of: /[A-Za-z0-9+\/=_]{100,}/) != nil && text.utf8.count < 2048)
            #expect(WebToken.session(text, gate.keys.secret)?.user == user)
        }
    }

    @Test(arguments: [(false, Duration.seconds(1_800)), (true, .seconds(14 * 86_400))])
    func `a token is valid for 30 minutes, or two weeks for a user who stays signed in`(
        keepsSignedIn: Bool, life: Duration
    ) throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI()
        let request = Gate.request(Gate.path(), query(token, gate.webToken(key, keepsSignedIn: keepsSignedIn)))
        _ = try gate.caller(request, at: Gate.now + (life - .microseconds(1)))
        let error = try #require(gate.refusal(request, at: Gate.now + life))
        #expect(error.summary == "421 ckWebAuthToken" && error.redirectURL != nil && error.attempt == nil)
    }

    @Test func `each answer carries a new token, and the older token stays valid until it expires`() throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI()
        let first = Gate.request(Gate.path(), query(token, gate.webToken(key)))
        let second = try #require(try gate.caller(first, at: Gate.now + Self.minute * 20).webToken)
        let request = Gate.request(Gate.path(), query(token, second))
        _ = try gate.caller(first, at: Gate.now + Self.minute * 29)
        _ = try gate.caller(request, at: Gate.now + Self.minute * 49)
        #expect(gate.refusal(first, at: Gate.now + Self.minute * 30)?.code == .authenticationRequired)
        #expect(gate.refusal(request, at: Gate.now + Self.minute * 50)?.code == .authenticationRequired)
    }

    @Test func `a renewed token differs only in its expiry`() throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI()
        let text = gate.webToken(key, keepsSignedIn: true) { ($0.databases, $0.isReadOnly) = ([.private], true) }
        let later = Gate.now + Self.minute
        let caller = try gate.caller(Gate.request(Gate.path(), query(token, text)), at: later)
        #expect(caller.databases == [.private] && !caller.canWrite)
        let old = try #require(WebToken.session(text, gate.keys.secret))
        let new = try #require(caller.webToken.flatMap { WebToken.session($0, gate.keys.secret) })
        #expect(
            new == old.renewed(at: later) && new.signedIn == Gate.now && new.expires == later + .seconds(14 * 86_400))
        let shared = gate.refusal(Gate.request(Gate.path("shared"), query(token, text)), at: later)
        #expect(shared?.summary == "403 database")
    }

    @Test func `a token with any byte changed is refused, and counts as a failed attempt`() throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI()
        let bytes = Array(try #require(Data(base64Encoded: gate.webToken(key))))
        let attempt = FailedAttempt(keyID: key.id)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            let text = Data(changed).base64EncodedString()
            let error = gate.refusal(Gate.request(Gate.path(), query(token, text)))
            #expect(error?.summary == "401 ckWebAuthToken" && error?.attempt == attempt, "\(index)")
        }
        for length in [0, 1, 32, 33, 34, bytes.count - 1] {
            let text = Data(bytes.prefix(length)).base64EncodedString()
            let error = gate.refusal(Gate.request(Gate.path(), query(token, text.isEmpty ? "=" : text)))
            #expect(error?.summary == "401 ckWebAuthToken", "\(length)")
        }
        for text in ["_alice", "a.b.c", "🔑"] {
            #expect(gate.refusal(Gate.request(Gate.path(), query(token, text)))?.summary == "401 ckWebAuthToken")
        }
    }

    @Test func `a token is valid for one container, one environment and one app`() throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI("web", KeyScope(container: nil))
        let other = try gate.createAPI("other", KeyScope(container: nil), seed: 9)
        let text = gate.webToken(key)
        let paths = [
            "/database/1/iCloud.B/development/private/zones/list",
            "/database/1/\(Gate.container)/production/private/zones/list",
        ]
        for request in paths.map({ Gate.request($0, query(token, text)) }) + [
            Gate.request(Gate.path(), query(other.token, text))
        ] {
            let error = gate.refusal(request)
            #expect(error?.summary == "401 ckWebAuthToken" && error?.attempt == nil)
        }
    }

    @Test func `after signing out everywhere, no earlier token is valid, not even a renewed one`() throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI()
        let (alice, bob) = (gate.webToken(key), gate.webToken(key, user: "_bob"))
        func request(_ text: String) -> AccessRequest { Gate.request(Gate.path(), query(token, text)) }
        let renewed = try #require(try gate.caller(request(alice), at: Gate.now + Self.minute * 2).webToken)
        try gate.keys.signOut("_alice", of: Gate.container, at: Gate.now + Self.minute)
        for text in [alice, renewed] {
            let error = gate.refusal(request(text), at: Gate.now + Self.minute * 2)
            #expect(error?.summary == "421 ckWebAuthToken")
        }
        _ = try gate.caller(request(bob))
        _ = try gate.caller(request(gate.webToken(key, at: Gate.now + Self.minute * 2)), at: Gate.now + Self.minute * 3)
        #expect(throws: AccessKeyError.self) { try gate.keys.signOut("", of: Gate.container, at: Gate.now) }
        #expect(throws: AccessKeyError.self) { try gate.keys.signOut("_alice", of: "Notes", at: Gate.now) }
    }

    @Test func `a new secret signs everybody out`() throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI()
        let request = Gate.request(Gate.path(), query(token, gate.webToken(key)))
        try gate.keys.signOut("_bob", of: Gate.container, at: Gate.now)
        gate.keys.signOutEverybody(Gate.random(7))
        #expect(gate.refusal(request)?.summary == "401 ckWebAuthToken")
        #expect(gate.keys.signOuts.isEmpty)
    }
}
