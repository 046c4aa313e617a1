import Foundation
import TestSupport
import Testing

/// An operator makes keys for the web services, looks at them and revokes them.
@Suite struct KeyCommandTests {
    private let folder: Folder
    private let file: String
    private static let scope = ["--container", "iCloud.com.example.Notes"]
    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEatr8H/jI1PJFDF9x30SLIEYuHN+M
        wZ+a4a0SUFk/3qHbYfkjvhFx/nOPE0H10w8iRQeWM76LXG/gkYz7+9zvMA==
        -----END PUBLIC KEY-----
        """

    init() throws {
        folder = try Folder()
        file = folder.file("keys.json")
    }

    private func create(_ kind: String, _ name: String, _ more: [String] = scope) async throws -> Program.Result {
        try await Command.run(["key", "create", kind, file, name] + more)
    }

    @Test func `an API token is printed once, and its last characters are listed`() async throws {
        let made = try await create("api", "web", Self.scope + ["--environment", "production", "--read-only"])
        let token = String(made.output.dropLast())
        #expect(made.status == 0 && token.utf8.count == 64, "\(made)")
        let listed = try await Command.run(["key", "list", file])
        #expect(
            listed.output.contains(#""name":"web","kind":"api""#) && listed.output.contains("\"\(token.suffix(4))\"")
                && listed.output.contains(
                    #""environments":["production"],"databases":["private","public","shared"],"readOnly":true"#),
            "\(listed)")
        #expect(!listed.output.contains(token))
        let revoked = try await Command.run(["key", "revoke", file, "web"])
        #expect(revoked.status == 0 && revoked.errors == "revoked web (api, …\(token.suffix(4)))\n", "\(revoked)")
        #expect(try await Command.run(["key", "list", file]).output == "")
        #expect(try await Command.run(["key", "revoke", file, "web"]).status == 66)
    }

    @Test func `keys of servers and sign-in services have IDs`() async throws {
        let pem = try folder.write(Self.publicKey, to: "key.pem")
        let server = try await create("server", "importer", Self.scope + ["--public-key", pem, "--user", "_importer"])
        #expect(server.status == 0 && server.output.utf8.count == 65, "\(server)")
        let signIn = try await create("sign-in", "accounts", ["--container", "*", "--public-key", pem])
        #expect(signIn.status == 0 && signIn.output.utf8.count == 17, "\(signIn)")
        let listed = try await Command.run(["key", "list", file])
        #expect(listed.output.contains(#""databases":["public"],"readOnly":false,"user":"_importer""#), "\(listed)")
        #expect(listed.output.contains(#""container":"*""#))
        let id = String(server.output.dropLast())
        #expect(try await Command.run(["key", "revoke", file, id]).errors.hasPrefix("revoked importer (server"))
    }

    @Test func `signing out one user or everybody changes the key file`() async throws {
        #expect(try await create("api", "web").status == 0)
        let before = try String(contentsOfFile: file, encoding: .utf8)
        let alice = try await Command.run(["key", "sign-out", file, "_alice"] + Self.scope)
        #expect(alice.status == 0, "\(alice)")
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("_alice") && !before.contains("_alice"))
        #expect(try await Command.run(["key", "sign-out", file, "--everybody"]).status == 0)
        #expect(try !String(contentsOfFile: file, encoding: .utf8).contains("_alice"))
        for wrong in [[], ["_alice"], ["_alice", "--everybody"], Self.scope] {
            #expect(try await Command.run(["key", "sign-out", file] + wrong).status == 64, "\(wrong)")
        }
    }

    @Test func `each mistake ends the command with its exit status`() async throws {
        #expect(try await Command.run(["key", "list", file]).status == 66)
        #expect(try await Command.run(["key", "revoke", file, "web"]).status == 66)
        #expect(try await create("api", "web").status == 0)
        #expect(try await create("api", "web").status == 73)
        let wrong = [
            ["--container", "Notes"], Self.scope + ["--environment", "test"], Self.scope + ["--database", "all"], [],
            Self.scope + ["--sign-in-url", "accounts.example.com"],
        ]
        for more in wrong { #expect(try await create("api", "other", more).status == 64, "\(more)") }
        let pem = try folder.write("-----BEGIN", to: "key.pem")
        #expect(try await create("sign-in", "other", Self.scope + ["--public-key", pem]).status == 65)
        #expect(try await create("sign-in", "other", Self.scope + ["--public-key", folder.file("none")]).status == 66)
        #expect(chmod(file, 0o644) == 0)
        let open = try await Command.run(["key", "list", file])
        #expect(open.status == 78 && open.errors.contains("chmod 600"), "\(open)")
    }
}
