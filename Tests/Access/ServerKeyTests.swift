import CloudKitModel
import Foundation
import Signing
import TestSupport
import Testing
import Time

@testable import Access

@Suite struct ServerKeyTests {
    private static let date = "2026-11-20T09:30:00Z"

    /// Makes a private key in the file `eckey.pem` in the folder of `shell`, and a gate that has the public key.
    private static func gate(_ shell: Shell, _ scope: KeyScope = Gate.publicScope) throws -> (gate: Gate, id: String) {
        var gate = Gate()
        let key = try PublicKey(pem: try shell.makeKey("eckey.pem"))
        let id = try gate.create(.server(key, user: "_importer"), "importer", scope).id
        return (gate, id)
    }

    /// The steps of Apple's documentation, typed in a shell.
    private static func signature(_ shell: Shell, body: String, path: String, date: String = date) throws -> String {
        let digest = "$(openssl dgst -sha256 -binary | base64)"
        return try shell.text(
            #"printf '%s:%s:%s' '\#(date)' "\#(digest)" '\#(path)' | openssl dgst -sha256 -sign eckey.pem | base64 -w 0"#,
            input: body)
    }

    private static func headers(_ id: String, _ signature: String, date: String = date) -> [String: String] {
        [Field.keyID: id, Field.date: date, Field.signature: signature]
    }

    private static let path = Gate.path("public", "records/modify")
    private static let body = #"{"operations":[]}"#

    @Test func `a request that openssl signed acts as the key's user`() throws {
        let shell = Shell(folder: try Folder())
        let (gate, id) = try Self.gate(shell)
        let signature = try Self.signature(shell, body: Self.body, path: Self.path)
        let caller = try gate.caller(Gate.request(Self.path, body: Self.body, headers: Self.headers(id, signature)))
        #expect(caller.user == "_importer" && caller.canWrite && caller.databases == [.public])
        #expect(caller.webToken == nil && caller.keyName == "importer" && id.count == 64)
    }

    @Test func `a request whose path, body, date, key ID or signature was changed is refused`() throws {
        let shell = Shell(folder: try Folder())
        let (gate, id) = try Self.gate(shell)
        let text = try Self.signature(shell, body: Self.body, path: Self.path)
        let headers = Self.headers(id, text)
        func refusal(
            path: String = Self.path, body: String = Self.body, _ headers: [String: String]
        ) -> String? {
            gate.refusal(Gate.request(path, body: body, headers: headers))?.summary
        }
        let wrong = "401 \(Field.signature)"
        #expect(refusal(headers) == nil)
        #expect(refusal(path: Gate.path("public", "records/query"), headers) == wrong)
        #expect(refusal(path: "/database/1/\(Gate.container)/production/public/records/modify", headers) == wrong)
        for body in [Self.body + " ", "", String(Self.body.dropLast())] {
            #expect(refusal(body: body, headers) == wrong)
        }
        #expect(refusal(Self.headers(id, text, date: "2026-11-20T09:30:01Z")) == wrong)
        #expect(refusal(Self.headers(id, text, date: "2026-11-20T09:30:00+00:00")) == wrong)
        #expect(refusal(Self.headers(String(id.reversed()), text)) == "401 \(Field.keyID)")
        let bytes = Array(try #require(Data(base64Encoded: text)))
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            let headers = Self.headers(id, Data(changed).base64EncodedString())
            #expect(refusal(headers) == wrong, "\(index)")
        }
        let error = gate.refusal(Gate.request(Self.path, body: "x", headers: headers))
        #expect(error?.attempt == FailedAttempt(keyID: id))
    }

    @Test func `the signed path may have the query or leave it out, but may not have another query`() throws {
        let shell = Shell(folder: try Folder())
        let (gate, id) = try Self.gate(shell)
        let query = "ckjsVersion=2.6&x=%20"
        for path in [Self.path, "\(Self.path)?\(query)"] {
            let headers = Self.headers(id, try Self.signature(shell, body: Self.body, path: path))
            _ = try gate.caller(Gate.request(Self.path, query, body: Self.body, headers: headers))
        }
        let other = Self.headers(id, try Self.signature(shell, body: Self.body, path: "\(Self.path)?x=1"))
        #expect(
            gate.refusal(Gate.request(Self.path, query, body: Self.body, headers: other))?.summary
                == "401 \(Field.signature)")
    }

    @Test func `for an empty body, the signed text may have a digest, or an empty string in its place`() throws {
        let shell = Shell(folder: try Folder())
        let (gate, id) = try Self.gate(shell)
        let path = Gate.path("public", "zones/list")
        let withDigest = Self.headers(id, try Self.signature(shell, body: "", path: path))
        _ = try gate.caller(Gate.request(path, headers: withDigest))
        let withoutDigest = Self.headers(
            id, try shell.text("printf '\(Self.date)::\(path)' | openssl dgst -sha256 -sign eckey.pem | base64 -w 0"))
        _ = try gate.caller(Gate.request(path, headers: withoutDigest))
        #expect(
            gate.refusal(Gate.request(path, body: "{}", headers: withoutDigest))?.summary == "401 \(Field.signature)")
    }

    @Test func `a signature is valid for ten minutes before and after its date`() throws {
        let shell = Shell(folder: try Folder())
        let (gate, id) = try Self.gate(shell)
        let headers = Self.headers(id, try Self.signature(shell, body: "", path: Self.path))
        let tenMinutes = Duration.seconds(600)
        for now in [Gate.now.advanced(by: .zero - tenMinutes), Gate.now + tenMinutes] {
            _ = try gate.caller(Gate.request(Self.path, headers: headers), at: now)
        }
        for now in [Gate.now.advanced(by: .seconds(-601)), Gate.now + (tenMinutes + .seconds(1))] {
            let error = gate.refusal(Gate.request(Self.path, headers: headers), at: now)
            #expect(error?.summary == "401 \(Field.date)" && error?.attempt == nil)
        }
    }

    @Test(arguments: [
        ([Field.keyID: nil], "400 \(Field.keyID)"), ([Field.date: nil], "400 \(Field.date)"),
        ([Field.signature: nil], "400 \(Field.signature)"), ([Field.keyID: ""], "400 \(Field.keyID)"),
        ([Field.date: "yesterday"], "400 \(Field.date)"), ([Field.signature: "%"], "400 \(Field.signature)"),
        ([Field.signature: ""], "400 \(Field.signature)"), ([Field.signature: "AAA"], "400 \(Field.signature)"),
        ([Field.signature: "AAAA"], "401 \(Field.signature)"), ([Field.keyID: "é"], "401 \(Field.keyID)"),
    ])
    func `a missing, malformed or wrong header is refused with its name`(
        change: [String: String?], expected: String
    ) throws {
        var gate = Gate()
        let id = try gate.create(.server(PrivateKey().publicKey, user: "_importer"), "importer", Gate.publicScope).id
        let headers = Self.headers(id, "AAAA").merging(change.compactMapValues(\.self)) { $1 }
            .filter { change[$0.key] != .some(.none) }
        #expect(gate.refusal(Gate.request(Self.path, headers: headers))?.summary == expected)
    }

    @Test(arguments: [Field.keyID, Field.date, Field.signature])
    func `a header that occurs twice is refused`(field: String) {
        let request = AccessRequest(path: Self.path, client: "192.0.2.1") { name in
            name == field.lowercased() ? ["a", "a"] : []
        }
        #expect(Gate().refusal(request)?.summary == "400 \(field)")
    }

    @Test func `a request with both a token and a signature is refused`() throws {
        var gate = Gate()
        let (_, token) = try gate.createAPI()
        let id = try gate.create(.server(PrivateKey().publicKey, user: "_importer"), "importer", Gate.publicScope).id
        for query in ["ckAPIToken=\(token)", "ckWebAuthToken=x", "ckSession=x"] {
            let error = gate.refusal(Gate.request(Self.path, query, headers: Self.headers(id, "AAAA")))
            #expect(error?.summary == "400 \(Field.keyID)")
        }
    }

    @Test func `a server-to-server key is for the public database only`() throws {
        let shell = Shell(folder: try Folder())
        let (gate, id) = try Self.gate(shell)
        let path = Gate.path("private")
        let headers = Self.headers(id, try Self.signature(shell, body: "", path: path))
        #expect(gate.refusal(Gate.request(path, headers: headers))?.summary == "403 database")
        #expect(throws: AccessKeyError.self) { try Self.gate(shell, Gate.oneContainer) }
    }

    @Test func `API keys and sign-in keys cannot sign requests`() throws {
        var gate = Gate()
        let (api, _) = try gate.createAPI()
        let signIn = try gate.create(.signIn(PrivateKey().publicKey), "accounts")
        for id in [api.id, signIn.id] {
            let error = gate.refusal(Gate.request(Self.path, headers: Self.headers(id, "AAAA")))
            #expect(error?.summary == "401 \(Field.keyID)")
        }
    }
}
