import CloudKitModel
import TestSupport
import Testing

@testable import Access

@Suite struct APITokenTests {
    @Test func `an API token alone may read the public database, without a user`() throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI()
        let caller = try gate.caller(
            Gate.request(Gate.path("public"), "ckjsVersion=2.6&ckAPIToken=\(token)&clientId=7"))
        #expect(caller.user == nil && !caller.canWrite && caller.databases == [.public] && caller.webToken == nil)
        #expect(caller.keyName == "web" && caller.path.container == Gate.container && caller.keyID == key.id)
        for check in [caller.requireUser, caller.requireWriting] {
            let error = #expect(throws: AccessError.self) { try check() }
            #expect(error?.summary == "421 ckWebAuthToken")
            #expect(error?.redirectURL == "https://accounts.example.com/in")
        }
        #expect(token.count == 64 && token.allSatisfy(\.isHexDigit))
    }

    @Test(arguments: [
        Gate.path("private"), Gate.path("shared"), "/device/1/\(Gate.container)/development/tokens/create",
    ])
    func `paths outside the public database need a user, and the error has the sign-in URL`(path: String) throws {
        var gate = Gate()
        let (_, token) = try gate.createAPI()
        let error = try #require(gate.refusal(Gate.request(path, "ckAPIToken=\(token)")))
        #expect(error.code == .authenticationRequired && error.status == 421)
        #expect(error.redirectURL == "https://accounts.example.com/in" && error.reason.hasPrefix("ckWebAuthToken: "))
    }

    @Test(arguments: [
        ("", "401 ckAPIToken"), ("ckAPIToken", "400 ckAPIToken"), ("ckAPIToken=", "400 ckAPIToken"),
        ("ckAPIToken=%zz", "400 ckAPIToken"), ("ckAPIToken=%FF", "400 ckAPIToken"),
        ("ckAPIToken=TOKEN&ckAPIToken=TOKEN", "400 ckAPIToken"),
        ("ckAPIToken=" + String(repeating: "a", count: 2049), "400 ckAPIToken"),
        ("ckAPIToken=guess", "401 ckAPIToken"), ("ckAPIToken=TOKENa", "401 ckAPIToken"),
        ("ckapitoken=TOKEN", "401 ckAPIToken"), ("ckAPIToken=TOKEN&ckWebAuthToken=", "400 ckWebAuthToken"),
        ("ckAPIToken=TOKEN&ckSession=a&ckSession=a", "400 ckSession"),
        ("ckAPIToken=TOKEN&ckSession=a&ckWebAuthToken=b", "400 ckSession"),
    ])
    func `a bad query is refused with the parameter's name`(query: String, expected: String) throws {
        var gate = Gate()
        let (_, token) = try gate.createAPI()
        let error = gate.refusal(Gate.request(Gate.path("public"), query.replacing("TOKEN", with: token)))
        #expect(error?.summary == expected)
        #expect(error?.reason.contains(token) == false)
    }

    private static let other = "iCloud.com.example.Other"
    private static let scopes: [(scope: KeyScope, path: String, expected: String?)] = [
        (KeyScope(container: nil), "/database/1/\(other)/production/public/zones/list", nil),
        (Gate.oneContainer, "/database/1/\(Gate.container)/production/public/zones/list", nil),
        (Gate.oneContainer, "/database/1/\(other)/production/public/zones/list", "403 container"),
        (Gate.oneContainer, "/database/1/\(Gate.container).B/production/public/zones/list", "403 container"),
        (
            KeyScope(container: nil, environments: [.development]), "/database/1/\(other)/production/public/zones/list",
            "403 environment"
        ),
        (
            KeyScope(container: nil, environments: [.production]), "/database/1/\(other)/production/public/zones/list",
            nil
        ),
        (KeyScope(container: nil, databases: [.private]), Gate.path("public"), "403 database"),
        (KeyScope(container: nil, databases: [.public]), Gate.path("shared"), "403 database"),
        (KeyScope(container: nil, databases: [.public]), Gate.path("public"), nil),
    ]

    @Test(arguments: scopes.indices) func `a key is valid only for its scope`(index: Int) throws {
        let (scope, path, expected) = Self.scopes[index]
        var gate = Gate()
        let (_, token) = try gate.createAPI("web", scope)
        let error = gate.refusal(Gate.request(path, "ckAPIToken=\(token)"))
        #expect(error?.summary == expected)
        #expect(error.map { $0.code == .accessDenied } ?? true)
    }

    @Test func `a read-only key gives no right to write`() throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI("web", KeyScope(container: nil, isReadOnly: true))
        let caller = try gate.caller(Gate.request(Gate.path(), query(token, gate.webToken(key))))
        #expect(try caller.requireUser() == "_alice")
        #expect(!caller.canWrite)
        let error = #expect(throws: AccessError.self) { try caller.requireWriting() }
        #expect(error?.code == .accessDenied)
    }

    @Test func `a revoked API token is refused, and so is its web token, even with another API token`() throws {
        var gate = Gate()
        let (key, token) = try gate.createAPI()
        let webToken = gate.webToken(key)
        let other = try gate.createAPI("other", seed: 9)
        _ = try gate.caller(Gate.request(Gate.path(), query(token, webToken)))
        #expect(try gate.keys.revoke("web") == key)
        #expect(gate.refusal(Gate.request(Gate.path("public"), "ckAPIToken=\(token)"))?.summary == "401 ckAPIToken")
        #expect(gate.refusal(Gate.request(Gate.path(), query(token, webToken)))?.summary == "401 ckAPIToken")
        let error = gate.refusal(Gate.request(Gate.path(), query(other.token, webToken)))
        #expect(error?.summary == "401 ckWebAuthToken")
        #expect(throws: AccessKeyError.unknownKey("web")) { try gate.keys.revoke("web") }
    }

    @Test func `names of keys are unique, and a new key with a wrong name or scope is refused`() throws {
        var gate = Gate()
        _ = try gate.createAPI()
        #expect(throws: AccessKeyError.nameTaken("web")) { try gate.createAPI() }
        let wrong: [(String, KeyScope)] = [
            ("", Gate.oneContainer), ("a b", Gate.oneContainer), (String(repeating: "a", count: 65), Gate.oneContainer),
            ("é", Gate.oneContainer), ("x", KeyScope(container: "com.example")),
            ("x", KeyScope(container: nil, environments: [])),
            ("x", KeyScope(container: nil, databases: [])),
        ]
        for (name, scope) in wrong {
            #expect(throws: AccessKeyError.self, "\(name)") { try gate.createAPI(name, scope) }
        }
    }
}

func query(_ apiToken: String, _ webToken: String) -> String {
    let encoded = webToken.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D")
    return "ckAPIToken=\(apiToken)&ckWebAuthToken=\(encoded)"
}
