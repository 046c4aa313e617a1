import CloudKitModel
import Dispatch
import Foundation
import Signing
import TestSupport
import Testing
import Time

@testable import Access

@Suite struct AccessKeyFileTests {
    private static func file(in folder: Folder) -> AccessKeyFile { AccessKeyFile(path: folder.file("keys.json")) }

    private static func create(
        _ file: AccessKeyFile, _ name: String, _ kind: KeyDraft.Kind = .api(signInURL: nil),
        _ scope: KeyScope = Gate.oneContainer
    ) throws -> (key: AccessKey, token: String?) {
        try file.edit(orBeginningWith: AccessKeys(SystemRandom.bytes)) { keys throws(AccessKeyError) in
            try keys.create(KeyDraft(name: name, scope: scope, kind: kind), at: Gate.now, SystemRandom.bytes)
        }
    }

    @Test func `the file is read as it was written, and only its owner may read it`() throws {
        let folder = try Folder()
        let file = Self.file(in: folder)
        #expect(try file.read() == nil)
        let key = PrivateKey().publicKey
        _ = try Self.create(file, "web", .api(signInURL: "https://example.com/\"in\""))
        _ = try Self.create(file, "importer", .server(key, user: "_importer"), Gate.publicScope)
        _ = try Self.create(
            file, "accounts", .signIn(key), KeyScope(container: nil, environments: [.production], isReadOnly: true))
        let keys: AccessKeys = try file.edit { keys throws(AccessKeyError) in
            try keys.signOut("_alice", of: Gate.container, at: Gate.now + .microseconds(1))
            return keys
        }
        #expect(try file.read() == keys && keys.keys.count == 3 && keys.signOuts.count == 1)
        for name in ["keys.json", "keys.json.lock"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("keys.json.new")))
    }

    @Test func `the file has the digest and the last four characters of an API token, but not the token`() throws {
        let folder = try Folder()
        let file = Self.file(in: folder)
        let (key, made) = try Self.create(file, "web")
        let token = try #require(made)
        let text = try String(contentsOfFile: file.path, encoding: .utf8)
        #expect(text.contains(SHA256.digest(of: token).hexadecimal) && text.contains(String(token.suffix(4))))
        for length in 8..<token.count { #expect(!text.contains(token.suffix(length))) }
        #expect(key.lastCharacters == token.suffix(4))
    }

    @Test func `simultaneous edits do not lose each other's keys`() throws {
        let folder = try Folder()
        let file = Self.file(in: folder)
        DispatchQueue.concurrentPerform(iterations: 40) { number in
            #expect(throws: Never.self) { try Self.create(file, "key\(number)") }
        }
        let keys = try #require(try file.read())
        #expect(Set(keys.keys.map(\.name)) == Set((0..<40).map { "key\($0)" }))
        #expect(Set(keys.keys.map(\.id)).count == 40)
    }

    @Test func `a failed edit leaves the file as it was`() throws {
        let folder = try Folder()
        let file = Self.file(in: folder)
        #expect(throws: AccessKeyError.missing(file.path)) {
            try file.edit { keys throws(AccessKeyError) in try keys.revoke("web") }
        }
        _ = try Self.create(file, "web")
        let before = try file.read()
        #expect(throws: AccessKeyError.unknownKey("other")) {
            try file.edit { keys throws(AccessKeyError) in try keys.revoke("other") }
        }
        #expect(throws: AccessKeyError.nameTaken("web")) { try Self.create(file, "web") }
        #expect(try file.read() == before)
    }

    @Test func `a file that others may use, or that is no key file, is refused with the reason`() throws {
        let folder = try Folder()
        let file = Self.file(in: folder)
        _ = try Self.create(file, "web")
        let text = try String(contentsOfFile: file.path, encoding: .utf8)
        #expect(chmod(file.path, 0o640) == 0)
        #expect(throws: AccessKeyError.accessibleToOthers(file.path)) { try file.read() }
        #expect(chmod(file.path, 0o600) == 0)
        let changes = [
            (text, "", "empty"), ("\"format\":1", "\"format\":2", "format"), ("\"secret\"", "\"sekret\"", "secret"),
            ("\"keys\":[", "\"keys\":{},\"others\":[", "keys must be an array, but this is an object"),
            ("\"signOuts\":[]", "\"signOuts\":{}", "signOuts must be an array, but this is an object"),
            ("\"digest\":\"", "\"digest\":\"x", "keys[0].digest"),
            ("\"kind\":\"api\"", "\"kind\":\"apl\"", "keys[0].kind"),
            ("\"readOnly\":false", "\"readOnly\":0", "keys[0].readOnly"),
            ("\"public\"", "\"pub\"", "keys[0].databases"),
            ("\"environments\":[", "\"environments\":\"\",\"others\":[", "keys[0].environments"),
            ("\"created\":\"2026", "\"created\":\"x", "keys[0].created"), ("\"name\":\"web\",", "", "keys[0].name"),
        ]
        for (old, new, part) in changes {
            try folder.write(text.replacing(old, with: new), to: "keys.json")
            let error = #expect(throws: AccessKeyError.self) { try file.read() }
            #expect(error?.description.contains(part) == true, "\(part): \(String(describing: error))")
        }
    }

    @Test func `an edit removes a temporary file that a crash left behind`() throws {
        let folder = try Folder()
        try folder.write("torn", to: "keys.json.new")
        #expect(chmod(folder.file("keys.json.new"), 0o666) == 0)
        let file = Self.file(in: folder)
        _ = try Self.create(file, "web")
        #expect(try file.read()?.keys.count == 1)
        #expect(!FileManager.default.fileExists(atPath: folder.file("keys.json.new")))
    }
}
