import Foundation
import Signing
import Testing

@testable import LocalAPNs

/// A correct request, and the rules and the state of a server that accepts the request. Tests change the request, the
/// rules or the state.
struct Fixture {
    /// 2026-01-01, in milliseconds.
    static let start: Int64 = 1_767_225_600_000
    static let device = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    static let bundle = "com.example.Notes"

    var check = RequestCheck(.development)
    var registry: Registry
    var connection = ConnectionState()
    var now = start
    let key = PrivateKey()
    private var sharedToken: String?

    init(isStrict: Bool = false, devices: [Device] = []) {
        registry = Registry(
            keys: [SigningKey(id: "KEY1234567", team: "TEAM123456", publicKey: key.publicKey)], devices: devices,
            isStrict: isStrict)
    }

    /// Makes a key of the team `TEAM123456`, applies `change` to its entry, and adds the entry to the registry.
    mutating func addKey(_ id: String, _ change: (inout SigningKey) -> Void = { _ in }) -> PrivateKey {
        let key = PrivateKey()
        var entry = SigningKey(id: id, team: "TEAM123456", publicKey: key.publicKey)
        change(&entry)
        registry.keys[id] = entry
        return key
    }

    func token(
        issuedAt: Int64? = nil, by other: PrivateKey? = nil, id: String = "KEY1234567",
        team: String = "TEAM123456"
    ) throws -> String {
        try JWT.text(
            head: #"{"alg":"ES256","kid":"\#(id)"}"#,
            claims: #"{"iss":"\#(team)","iat":\#(issuedAt ?? now / 1000)}"#, key: other ?? key)
    }

    /// A token that is the same in all requests of the test.
    private mutating func tokenOfAllRequests() throws -> String {
        let token = try sharedToken ?? token()
        sharedToken = token
        return token
    }

    mutating func request(_ change: (inout PushRequest) -> Void = { _ in }) throws -> PushRequest {
        var request = PushRequest(
            headers: [
                Header(":method", "POST"), Header(":scheme", "https"), Header(":authority", "localhost"),
                Header(":path", "/3/device/\(Fixture.device)"),
                Header("authorization", "bearer \(try tokenOfAllRequests())"),
                Header("apns-topic", Fixture.bundle), Header("apns-push-type", "alert"),
            ], body: Array(#"{"aps":{"alert":"Hi"}}"#.utf8))
        change(&request)
        return request
    }

    /// Why the server rejects the changed request; nil if it accepts the request.
    mutating func refusal(_ change: (inout PushRequest) -> Void = { _ in }) throws -> Refusal? {
        var inspection = Inspection(try request(change))
        return refusal(of: &inspection)
    }

    mutating func refusal(of inspection: inout Inspection) -> Refusal? {
        check.refusal(of: &inspection, on: &connection, by: &registry, at: now)
    }

    /// The warnings about the changed request, which must be accepted.
    mutating func warnings(_ change: (inout PushRequest) -> Void = { _ in }) throws -> [String] {
        var inspection = Inspection(try request(change))
        let refusal = refusal(of: &inspection)
        #expect(refusal == nil)
        return inspection.warnings
    }
}

enum JWT {
    static func text(head: String, claims: String, key: PrivateKey) throws -> String {
        let signed = Base64URL.text(of: head.utf8) + "." + Base64URL.text(of: claims.utf8)
        return signed + "." + Base64URL.text(of: try key.signature(for: Array(signed.utf8)))
    }
}

extension PushRequest {
    mutating func set(_ name: String, _ value: String?) {
        headers.removeAll { $0.name == name }
        if let value { headers.append(Header(name, value)) }
        headers.sort { $0.name.hasPrefix(":") && !$1.name.hasPrefix(":") }
    }

    mutating func setBody(_ text: String) {
        body = Array(text.utf8)
        bodyBytes = body.count
    }
}
