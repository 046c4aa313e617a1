import CloudKitModel
import Testing

@testable import Access

@Suite struct OpenModeTests {
    private static func refusal(_ request: AccessRequest) -> AccessError? {
        do throws(AccessError) {
            _ = try OpenMode.caller(of: request)
            return nil
        } catch { return error }
    }

    @Test(arguments: ["ckWebAuthToken=_alice", "ckAPIToken=anything&ckWebAuthToken=%5Falice", "ckSession=_alice"])
    func `the web token names the user`(query: String) throws {
        let caller = try OpenMode.caller(of: Gate.request(Gate.path(), query))
        #expect(try caller.requireWriting() == "_alice")
        #expect(caller.databases == Set(DatabaseScope.allCases) && caller.webToken == "_alice")
    }

    @Test(arguments: ["", "ckAPIToken=anything"])
    func `without a user only the public database can be read`(query: String) throws {
        let caller = try OpenMode.caller(of: Gate.request(Gate.path("public"), query))
        #expect(caller.user == nil && !caller.canWrite && caller.databases == [.public])
        for path in [Gate.path("private"), "/device/1/\(Gate.container)/development/tokens/create"] {
            let error = try #require(Self.refusal(Gate.request(path, query)))
            #expect(error.summary == "421 ckWebAuthToken" && error.reason.contains("ckWebAuthToken=_alice"))
        }
    }

    @Test func `a name that no user can have is refused, and so is a signed request`() {
        let name = Self.refusal(Gate.request(Gate.path(), "ckWebAuthToken=%00"))
        #expect(name?.summary == "400 ckWebAuthToken")
        for placeholder in ["_defaultOwner", "__defaultOwner__"] {
            let refusal = Self.refusal(Gate.request(Gate.path(), "ckWebAuthToken=\(placeholder)"))
            #expect(refusal?.summary == "400 ckWebAuthToken", "\(placeholder)")
            #expect(refusal?.reason.contains("\(placeholder) stands for the owner of a zone") == true)
        }
        let headers = [Field.keyID: "a", Field.date: "2026-11-20T09:30:00Z", Field.signature: "AAAA"]
        let signed = Self.refusal(Gate.request(Gate.path("public"), headers: headers))
        #expect(signed?.summary == "401 \(Field.keyID)" && signed?.reason.contains("belfry key create") == true)
    }

    @Test(arguments: [
        (["Host": "127.0.0.1:7490"], nil), (["Host": "localhost"], nil), (["Host": "[::1]:7490"], nil),
        (["Host": "LOCALHOST:80", "Origin": "http://localhost:3000"], nil), (["Origin": "https://app.localhost"], nil),
        (["Host": "evil.example:7490"], "403 Host"), (["Host": "127.0.0.1.evil.example"], "403 Host"),
        (["Host": ""], "403 Host"),
        (["Host": "[::2]"], "403 Host"), (["Origin": "https://evil.example"], "403 Origin"),
        (["Origin": "null"], "403 Origin"),
        (["Origin": "https://localhost.evil.example"], "403 Origin"),
        (["Origin": "http://localhost@evil.example"], "403 Origin"),
    ])
    func `requests to other hosts, and requests from web pages of other sites, are refused`(
        headers: [String: String], expected: String?
    ) {
        #expect(Self.refusal(Gate.request(Gate.path(), "ckWebAuthToken=_alice", headers: headers))?.summary == expected)
    }
}
