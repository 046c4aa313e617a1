import CloudKitModel
import Signing
import TestSupport
import Time

@testable import Access

/// A set of keys, and requests to a gateway that has them.
struct Gate {
    static let container = "iCloud.com.example.Notes"
    static let now = Instant(rfc3339: "2026-11-20T09:30:00Z")!
    /// Every environment and every database of ``container``.
    static let oneContainer = KeyScope(container: container)

    var keys = AccessKeys(Gate.random(1))

    /// A source of pseudorandom bytes. Each call starts again with the same bytes, so two API tokens of one test
    /// need two seeds.
    static func random(_ seed: UInt64) -> RandomBytes {
        { count in
            var generator = Seeded(seed)
            return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }
    }

    mutating func createAPI(
        _ name: String = "web", _ scope: KeyScope = Gate.oneContainer,
        signInURL: String? = "https://accounts.example.com/in",
        seed: UInt64 = 2
    ) throws -> (key: AccessKey, token: String) {
        let draft = KeyDraft(name: name, scope: scope, kind: .api(signInURL: signInURL))
        let made = try keys.create(draft, at: Gate.now, Gate.random(seed))
        return (made.key, made.token ?? "")
    }

    mutating func create(
        _ kind: KeyDraft.Kind, _ name: String, _ scope: KeyScope = Gate.oneContainer, seed: UInt64 = 3
    ) throws -> AccessKey {
        try keys.create(KeyDraft(name: name, scope: scope, kind: kind), at: Gate.now, Gate.random(seed)).key
    }

    static let publicScope = KeyScope(container: container, databases: [.public])

    /// The web token of a signed-in user, made directly and not in exchange for a sign-in assertion.
    func webToken(
        _ app: AccessKey, user: String = "_alice", keepsSignedIn: Bool = false, at now: Instant = Gate.now,
        _ change: (inout WebSession) -> Void = { _ in }
    ) -> String {
        var session = WebSession(
            user: user, container: Gate.container, environment: .development, keyID: app.id,
            databases: Set(DatabaseScope.allCases), isReadOnly: false, signedIn: now, keepsSignedIn: keepsSignedIn,
            expires: now
        ).renewed(at: now)
        change(&session)
        return WebToken.text(session, keys.secret)
    }

    static func path(_ database: String = "private", _ action: String = "records/query") -> String {
        "/database/1/\(container)/development/\(database)/\(action)"
    }

    static func request(
        _ path: String = Gate.path(), _ query: String = "", body: String = "", address: String = "192.0.2.1",
        headers: [String: String] = [:]
    ) -> AccessRequest {
        AccessRequest(path: path, rawQuery: query, body: Array(body.utf8), client: address) { name in
            headers.filter { $0.key.lowercased() == name }.map(\.value)
        }
    }

    func caller(_ request: AccessRequest, at now: Instant = Gate.now) throws -> Caller {
        try Authenticator(keys: keys).caller(of: request, at: now)
    }

    /// The refusal of a request; nil if it is accepted.
    func refusal(_ request: AccessRequest, at now: Instant = Gate.now) -> AccessError? {
        do throws(AccessError) {
            _ = try Authenticator(keys: keys).caller(of: request, at: now)
            return nil
        } catch { return error }
    }
}

extension Instant {
    static func + (time: Instant, duration: Duration) -> Instant { time.advanced(by: duration) }
}

extension AccessError {
    /// The HTTP status and the field, as in `401 ckAPIToken`; a dash in place of the field if there is none.
    var summary: String { "\(status) \(field ?? "-")" }
}
