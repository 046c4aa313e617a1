import CloudKitModel
import Foundation
import Signing
import Synchronization
import TestSupport
import Testing
import Time

@testable import Access

/// A gateway with a key file, which may change while the gateway runs.
@Suite struct AccessControlTests {
    private let folder: Folder
    private let file: AccessKeyFile

    init() throws {
        folder = try Folder()
        file = AccessKeyFile(path: folder.file("keys.json"))
    }

    private func create(
        _ name: String, _ kind: KeyDraft.Kind = .api(signInURL: nil), _ scope: KeyScope = Gate.oneContainer
    ) throws -> (key: AccessKey, token: String) {
        let draft = KeyDraft(name: name, scope: scope, kind: kind)
        let made = try file.edit(orBeginningWith: AccessKeys(SystemRandom.bytes)) { keys throws(AccessKeyError) in
            try keys.create(draft, at: Gate.now, SystemRandom.bytes)
        }
        return (made.key, made.token ?? "")
    }

    private func refusal(
        _ access: AccessControl, _ query: String, path: String = Gate.path("public"), address: String = "192.0.2.1",
        at now: Instant = Gate.now
    ) -> String? {
        do throws(AccessError) {
            _ = try access.authenticate(Gate.request(path, query, address: address), at: now)
            return nil
        } catch { return error.summary + (error.retryAfter.map { " after \($0)" } ?? "") }
    }

    @Test func `a key is valid from its creation to its revocation, without a restart`() throws {
        let (web, other) = (try create("web"), try create("other"))
        let access = AccessControl(keyFile: file)
        #expect(refusal(access, "ckAPIToken=\(web.token)") == nil && !access.isOpen)
        let new = try create("new")
        #expect(refusal(access, "ckAPIToken=\(new.token)") == nil)
        for name in ["web", new.key.id] {
            _ = try file.edit { keys throws(AccessKeyError) in try keys.revoke(name) }
        }
        for token in [web.token, new.token] { #expect(refusal(access, "ckAPIToken=\(token)") == "401 ckAPIToken") }
        #expect(refusal(access, "ckAPIToken=\(other.token)") == nil)
    }

    @Test func `a gateway leaves open mode with its first key, and stays out of open mode while it runs`() throws {
        let access = AccessControl(keyFile: file)
        #expect(access.isOpen)
        #expect(refusal(access, "ckWebAuthToken=_alice", path: Gate.path()) == nil)
        let web = try create("web")
        #expect(refusal(access, "ckWebAuthToken=_alice", path: Gate.path()) == "401 ckAPIToken")
        _ = try file.edit { keys throws(AccessKeyError) in try keys.revoke("web") }
        #expect(refusal(access, "ckAPIToken=\(web.token)") == "401 ckAPIToken" && !access.isOpen)
        try FileManager.default.removeItem(atPath: file.path)
        #expect(refusal(access, "ckWebAuthToken=_alice", path: Gate.path()) == "503 - after 10" && !access.isOpen)
        #expect(AccessControl(keyFile: nil).isOpen)
    }

    @Test
    func `a request names a known key by its API token or key ID, even with a wrong signature or web token`() throws {
        let access = AccessControl(keyFile: file)
        #expect(access.namesKey(Gate.request()), "in open mode, a request needs no key")
        let web = try create("web")
        let server = try create("server", .server(PrivateKey().publicKey, user: "_server"), Gate.publicScope)
        let headers = [Field.date: "2026-11-20T09:30:00Z", Field.signature: "AAAA"]
        #expect(access.namesKey(Gate.request(Gate.path(), "ckAPIToken=\(web.token)&ckWebAuthToken=wrong")))
        #expect(access.namesKey(Gate.request(headers: headers.merging([Field.keyID: server.key.id]) { $1 })))
        #expect(!access.namesKey(Gate.request(headers: headers.merging([Field.keyID: "unknown"]) { $1 })))
        #expect(!access.namesKey(Gate.request(headers: headers)), "the signature is incomplete")
        for query in ["", "ckWebAuthToken=_alice", "ckAPIToken=wrong", "ckAPIToken=\(web.token)&ckAPIToken=again"] {
            #expect(!access.namesKey(Gate.request(Gate.path(), query)), "\(query)")
        }
        try FileManager.default.removeItem(atPath: file.path)
        #expect(!access.namesKey(Gate.request(Gate.path(), "ckAPIToken=\(web.token)")))
    }

    @Test func `while the key file cannot be used, every request is refused and the operator is told once`() throws {
        let web = try create("web")
        let told = Mutex<[AccessKeyError]>([])
        let access = AccessControl(keyFile: file) { problem in told.withLock { $0.append(problem) } }
        let text = try String(contentsOfFile: file.path, encoding: .utf8)
        func refusal() -> String? { self.refusal(access, "ckAPIToken=\(web.token)") }
        #expect(refusal() == nil && told.withLock(\.count) == 0)
        try folder.write("{", to: "keys.json")
        for _ in 0..<2 { #expect(refusal() == "503 - after 10") }
        #expect(told.withLock { $0.count == 1 && $0[0].description.hasPrefix(file.path) })
        try folder.write(text, to: "keys.json")
        #expect(refusal() == nil)
        #expect(chmod(file.path, 0o644) == 0)
        for _ in 0..<2 { #expect(refusal() == "503 - after 10") }
        #expect(told.withLock { $0.count == 2 && $0[1] == .accessibleToOthers(file.path) })
        try FileManager.default.removeItem(atPath: file.path)
        for _ in 0..<2 { #expect(refusal() == "503 - after 10") }
        #expect(told.withLock { $0.count == 3 && $0[2] == .missing(file.path) })
    }

    @Test func `if reading the key file fails, the next request reads it again`() throws {
        let web = try create("web")
        let access = AccessControl(keyFile: file)
        try FileManager.default.moveItem(atPath: file.path, toPath: file.path + ".moved")
        // A folder can be opened, but reading it fails.
        try FileManager.default.createDirectory(
            atPath: file.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        #expect(refusal(access, "ckAPIToken=\(web.token)") == "503 - after 10")
        try FileManager.default.removeItem(atPath: file.path)
        try FileManager.default.moveItem(atPath: file.path + ".moved", toPath: file.path)
        #expect(refusal(access, "ckAPIToken=\(web.token)") == nil)
    }

    @Test func `an assertion can be exchanged only once, and not at all in open mode`() throws {
        let (web, key) = (try create("web"), PrivateKey())
        let id = try create("accounts", .signIn(key.publicKey)).key.id
        let access = AccessControl(keyFile: file)
        let claims =
            #"{"iss":"\#(id)","sub":"_alice","aud":"\#(Gate.container)","exp":\#(Gate.now.microseconds / 1_000_000 + 60),"jti":"1"}"#
        let signed = [#"{"alg":"ES256"}"#, claims].map { Base64URL.text(of: $0.utf8) }.joined(separator: ".")
        let assertion = "\(signed).\(Base64URL.text(of: try key.signature(for: Array(signed.utf8))))"
        let request = Gate.request("/auth/1/\(Gate.container)/development/signin", "ckAPIToken=\(web.token)")
        let signIn = try access.signIn(request, assertion: assertion, keepsSignedIn: false, at: Gate.now)
        #expect(refusal(access, query(web.token, signIn.webToken), path: Gate.path()) == nil)
        let again = #expect(throws: AccessError.self) {
            try access.signIn(request, assertion: assertion, keepsSignedIn: false, at: Gate.now)
        }
        #expect(again?.summary == "401 assertion.jti")
        let open = #expect(throws: AccessError.self) {
            try AccessControl(keyFile: nil).signIn(request, assertion: assertion, keepsSignedIn: false, at: Gate.now)
        }
        #expect(open?.code == .authenticationFailed)
    }

    @Test func `an address with too many failed attempts is refused until time has passed`() throws {
        let web = try create("web")
        let access = AccessControl(keyFile: file)
        let good = "ckAPIToken=\(web.token)"
        for _ in 0..<20 { #expect(refusal(access, "ckAPIToken=guess") == "401 ckAPIToken") }
        #expect(refusal(access, "ckAPIToken=guess") == "429 - after 6")
        #expect(refusal(access, good) == "429 - after 6")
        #expect(refusal(access, good, address: "192.0.2.2") == nil)
        #expect(refusal(access, good, at: Gate.now + .seconds(6)) == nil)
    }

    @Test func `a mistake that cannot be a guess does not count as a failed attempt`() throws {
        let web = try create("web")
        let access = AccessControl(keyFile: file)
        for _ in 0..<50 {
            #expect(refusal(access, "") == "401 ckAPIToken")
            #expect(refusal(access, "ckAPIToken=\(web.token)", path: Gate.path()) == "421 ckWebAuthToken")
            #expect(refusal(access, "ckAPIToken=%") == "400 ckAPIToken")
        }
        #expect(refusal(access, "ckAPIToken=\(web.token)") == nil)
    }

    @Test func `after failures from many addresses, a key is blocked for these addresses and not for others`() throws {
        let web = try create("web")
        let access = AccessControl(keyFile: file)
        let forged = "ckAPIToken=\(web.token)&ckWebAuthToken=forged"
        for number in 0..<200 {
            #expect(refusal(access, forged, path: Gate.path(), address: "198.51.100.\(number)") == "401 ckWebAuthToken")
        }
        let good = "ckAPIToken=\(web.token)"
        #expect(refusal(access, good, address: "198.51.100.7") == "429 - after 1")
        #expect(refusal(access, good, address: "192.0.2.1") == nil)
    }
}
