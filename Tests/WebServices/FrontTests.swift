import BuiltIns
import Foundation
import PipelineKit
import TestSupport
import Testing

@testable import PipelineTestKit
@testable import WebServices

/// Tests the parts of the gateway in front of its endpoints: encryption, pages of other sites, methods, and the access
/// log.
@Suite("The parts of the gateway in front of its endpoints", .serialized, .timeLimit(.minutes(3)))
struct FrontTests {
    private static let lookup = "/database/1/\(GatewayRig.container)/development/private/records/lookup"

    // MARK: Encryption

    @Test(.enabled(if: TestCertificates.isPossible, "needs \(Python.program) and openssl"))
    func `with a certificate, clients choose HTTP 2 or HTTP 1, and a reload replaces the certificate`() async throws {
        let certificates = try TestCertificates()
        try certificates.make(commonName: "one")
        let files = ", certificate: \(certificates.certificate), key: {$file: \(certificates.key)}"
        try await GatewayRig.with(files) { rig in
            func curl(_ options: String...) async throws -> String {
                let url = "https://127.0.0.1:\(rig.portNumber)\(Self.lookup)?ckWebAuthToken=_alice"
                let fixed = ["--silent", "--max-time", "60", "--data", #"{"records":[{"recordName":"n1"}]}"#]
                let last = ["--cacert", certificates.certificate, "--write-out", " %{http_version} %{http_code}", url]
                return await (try TestProgram("/usr/bin/curl", fixed + options + last)).standardOutput()
            }
            #expect(try await curl("--http2").hasSuffix(" 2 200"))
            #expect(try await curl("--http1.1").hasSuffix(" 1.1 200"))
            try certificates.make(commonName: "two")
            #expect(try await curl("--http2").hasSuffix(" 000"), "the old certificate is not trusted any more")
            try rig.gateway.reload(rig.file())
            #expect(try await curl("--http2").hasSuffix(" 2 200"))
            let probe = try #require(try GatewayProbe(folder: rig.gateway.folder, rig.gateway.settings))
            #expect(await onThread { probe.answers(withinSeconds: 30) }, "doctor sends an unencrypted request")
        }
    }

    @Test(arguments: [
        (#"listen: "0.0.0.0:7490""#, "other machines reach 0.0.0.0, and the gateway does not encrypt what it sends"),
        (#"listen: "127.0.0.1:7490", certificate: /nowhere.pem"#, "api.key: required"),
        (#"listen: "127.0.0.1:7490", key: {$env: KEY}"#, "a key is set but `certificate` is not"),
        (#"listen: "127.0.0.1:7490", origins: ["app.example.com"]"#, "app.example.com is not an origin"),
    ])
    func `a mistake in the gateway's settings is reported with its reason`(settings: String, reason: String) throws {
        let error = #expect(throws: PipelineFileError.self) { try Self.settings("{\(settings)}") }
        #expect("\(error.map { "\($0)" } ?? "")".contains(reason), "\(String(describing: error))")
    }

    @Test func `the error for a certificate that cannot be read names the setting and the file`() throws {
        let settings = try Self.settings("{certificate: /nowhere.pem, key: {$env: PATH}}")
        let error = #expect(throws: PipelineFileError.self) { try settings.certificate() }
        #expect(
            error?.first.keyPath == "api.certificate"
                && error?.first.reason == "/nowhere.pem cannot be read, or holds no certificate in PEM")
    }

    private static func settings(_ api: String) throws -> GatewaySettings {
        let file = try PipelineFile.parse(
            "pipeline: web\nstages: {ingest: {}}\napi: \(api)\n", file: "web.yaml", registry: .builtIns)
        return try GatewaySettings(of: file, path: "web.yaml")
    }

    /// Clients append a path to the address.
    @Test(arguments: [
        "ftp://127.0.0.1:7480", "127.0.0.1:7480", "http://", "http://127.0.0.1:7480/", "http://h/?a=b", "http://u@h",
    ])
    func `the courier's address must be an HTTP URL without a user, a query or a slash at its end`(
        _ address: String
    ) throws {
        let error = #expect(throws: PipelineFileError.self) { try Self.settings("{courier: \"\(address)\"}") }
        #expect(error?.first.keyPath == "api.courier" && error?.first.hint?.contains("http://127.0.0.1:7480") == true)
        #expect(try Self.settings("{courier: \"https://push.example.com/a\"}").courier == "https://push.example.com/a")
    }

    @Test func `the settings may name only transports of the pipeline`() throws {
        func settings(_ api: String) throws -> GatewaySettings {
            let text = """
                pipeline: web
                stages:
                  ingest: {}
                  match: {from: ingest}
                  coalesce: {from: match}
                  payload: {from: coalesce}
                  deliver: {from: payload, transports: {apple: {use: console}}}
                api: \(api)
                """
            let file = try PipelineFile.parse(text, file: "web.yaml", registry: .builtIns)
            return try GatewaySettings(of: file, path: "web.yaml")
        }
        #expect(try settings("{apnsTransport: apple}").courierTransport == "courier", "a default is not checked")
        let error = #expect(throws: PipelineFileError.self) {
            try settings("{apnsTransport: apns, courierTransport: c}")
        }
        #expect(error?.errors.map(\.keyPath) == ["api.apnsTransport", "api.courierTransport"])
        #expect(error?.first.hint == "the transports are apple")
    }

    @Test
    func `of the gateway's settings, a reload may change only the certificate's path and its key's source`() throws {
        let standard = try Self.settings("{}")
        for change in [
            "listen: 127.0.0.1:7491", "store: elsewhere", "keys: other.json", "courier: http://127.0.0.1:7480",
            "courierTransport: c", "apnsTransport: a", "writeTimeout: 21s",
            "lagMax: 3s", "predicates: extended", "origins: [https://app.example]", "accessLog: a.log",
            "certificate: c.pem, key: {$env: KEY}", "behindTLS: true",
        ] {
            let keys = try Self.settings("{\(change)}").keysOfChanges(from: standard)
            #expect(keys == [String(change.prefix { $0 != ":" })], "\(change)")
        }
        let (one, two) = (
            try Self.settings("{certificate: a.pem, key: {$env: A}}"),
            try Self.settings("{certificate: b.pem, key: {$env: B}}")
        )
        #expect(one.keysOfChanges(from: two).isEmpty)
    }

    @Test func `a reload that changes other settings is refused, and the error has the key path and line of each`()
        async throws
    {
        try await GatewayRig.with { rig in
            let text = rig.text.replacing("api: {", with: "api: {lagMax: 3s, accessLog: a.log, ")
                .replacing("data: \(rig.folder.path)", with: "data: \(rig.folder.path)/other")
            let file = try PipelineFile.parse(text, file: "web.yaml", registry: .builtIns)
            let error = #expect(throws: PipelineFileError.self) { try rig.gateway.reload(file) }
            #expect(error?.errors.map(\.keyPath) == ["data", "api.lagMax", "api.accessLog"])
            #expect(error?.errors.map(\.line) == [2, 10, 10])
        }
    }

    // MARK: Pages of other sites

    @Test func `only pages of the allowed origins may read answers, also answers to refused requests`() async throws {
        try await GatewayRig.with(#", origins: ["http://localhost:8080"]"#) { rig in
            func headers(_ origin: String, _ method: String, _ more: [String: String] = [:]) async throws
                -> (status: Int, headers: [String: String])
            {
                let answer = try await rig.send(
                    method, Self.lookup, method == "POST" ? Data("{}".utf8) : nil,
                    headers: more.merging(["Origin": origin]) { $1 })
                return (answer.status, answer.headers)
            }
            let asked = ["Access-Control-Request-Method": "POST"]
            let preflight = try await headers("http://localhost:8080", "OPTIONS", asked)
            #expect(preflight.status == 204)
            #expect(preflight.headers["access-control-allow-origin"] == "http://localhost:8080")
            #expect(preflight.headers["access-control-allow-methods"] == "GET, POST, PUT")
            let refused = try await headers("http://localhost:8080", "POST")
            #expect(refused.status == 421 || refused.status == 401, "\(refused)")
            #expect(refused.headers["access-control-allow-origin"] == "http://localhost:8080")
            #expect(refused.headers["access-control-expose-headers"]?.contains("X-Apple-Request-UUID") == true)
            #expect(refused.headers["vary"] == "origin")
            let other = try await headers("http://localhost:9090", "OPTIONS", asked)
            #expect(other.status == 204 && other.headers["access-control-allow-origin"] == nil)
            let otherPost = try await headers("http://localhost:9090", "POST")
            #expect(otherPost.headers["access-control-allow-origin"] == nil)
        }
    }

    // MARK: Failed attempts

    @Test(arguments: [true, false])
    func `only behind a proxy, failed attempts count for the last address in X-Forwarded-For`(
        isBehindTLS: Bool
    ) async throws {
        let folder = try Folder()
        let secret = String(repeating: "07", count: 32)
        try folder.write(#"{"format":1,"secret":"\#(secret)","keys":[]}"#, to: "keys.json")
        #expect(chmod(folder.file("keys.json"), 0o600) == 0)
        try await GatewayRig.with(", keys: \(folder.file("keys.json")), behindTLS: \(isBehindTLS)") { rig in
            func statuses(_ addresses: String, _ count: Int) async throws -> Set<Int> {
                var statuses: Set<Int> = []
                for _ in 0..<count {
                    let answer = try await rig.send(
                        "POST", Self.lookup + "?ckAPIToken=wrong", Data("{}".utf8),
                        headers: ["X-Forwarded-For": addresses])
                    statuses.insert(answer.status)
                }
                return statuses
            }
            let guesser = try await statuses("198.51.100.7, 192.0.2.1", 40)
            #expect(guesser == [401, 429])
            let other = try await statuses("192.0.2.1, 192.0.2.2", 3)
            #expect(other.contains(429) != isBehindTLS, "\(other)")
        }
    }

    @Test(arguments: [
        (true, "https", "https://"), (true, "javascript", "http://"), (false, "https", "http://"),
    ])
    func `X-Forwarded-Proto counts only behind a proxy, and only if it is http or https`(
        isBehindTLS: Bool, value: String, scheme: String
    ) async throws {
        try await GatewayRig.with(", behindTLS: \(isBehindTLS)") { rig in
            let upload = try await rig.send(
                "POST",
                "/database/1/\(GatewayRig.container)/development/private/assets/upload?ckWebAuthToken=_alice",
                Data(#"{"tokens":[{"recordType":"Note","fieldName":"picture"}]}"#.utf8),
                headers: ["X-Forwarded-Proto": value])
            #expect(upload["tokens.0.url"]?.hasPrefix(scheme) == true, "\(upload)")
        }
    }

    // MARK: The length of bodies

    @Test func `only a url from an answer of assets/upload accepts a body as long as an asset`() async throws {
        try await GatewayRig.with { rig in
            let upload = try await rig.post(
                "private/assets/upload", #"{"tokens":[{"recordType":"Note","fieldName":"picture"}]}"#)
            let ticket = try #require(upload["tokens.0.url"]?.split(separator: "/").last)
            let limits = [
                ("/assets/\(ticket)", AssetFolder.bytesMax, 100), ("/assets/\(ticket)0", RequestBody.bytesMax, 403),
                (Self.lookup, RequestBody.bytesMax, 100),
            ]
            for (path, bytesMax, status) in limits {
                for (length, status) in [(bytesMax, status), (bytesMax + 1, 413)] {
                    let client = try rig.connectRawClient()
                    client.send("POST \(path) HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n")
                    client.send("content-length: \(length)\r\n\r\n")
                    #expect(await client.statuses(1) == [status], "\(path) \(length)")
                }
            }
        }
    }

    @Test func `the answer to a body that is too long says what to do`() async throws {
        try await GatewayRig.with { rig in
            let client = try rig.connectRawClient()
            client.send("POST \(Self.lookup) HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4000001\r\n\r\n")
            let answer = await client.answers(1)
            #expect(answer.hasPrefix("HTTP/1.1 413 "), "\(answer)")
            #expect(answer.contains("A request may have at most 4000000 bytes: send several requests"), "\(answer)")
        }
    }

    // MARK: Methods

    @Test(arguments: [
        ("PUT", lookup, "POST"),
        ("DELETE", "/database/1/\(GatewayRig.container)/development/private/zones/list", "GET, POST"),
        ("GET", "/auth/1/\(GatewayRig.container)/development/signin", "POST"),
        ("DELETE", "/assets/none", "GET, HEAD, POST, PUT"),
    ])
    func `a method that a path does not allow is refused, and the answer lists the allowed methods`(
        method: String, path: String, allowed: String
    ) async throws {
        try await GatewayRig.with { rig in
            let answer = try await rig.send(method, path)
            #expect(answer.status == 405 && answer.headers["allow"] == allowed, "\(answer)")
            #expect(answer["serverErrorCode"] == "BAD_REQUEST")
        }
    }

    // MARK: The access log

    @Test func `the access log has one line for each request, contains no secrets, and may be rotated`() async throws {
        let folder = try Folder()
        let path = folder.path + "/access.log"
        try await GatewayRig.with(", accessLog: \(path)") { rig in
            _ = try await rig.modify("create", "n1", as: "_secretive")
            _ = try await rig.send("POST", Self.lookup + "&a=secret-key?ckAPIToken=secret-key", Data("{}".utf8))
            let upload = try await rig.post(
                "private/assets/upload", #"{"tokens":[{"recordType":"Note","fieldName":"picture"}]}"#)
            let url = try #require(upload["tokens.0.url"])
            let ticket = try #require(url.split(separator: "/").last)
            #expect(try await rig.send("POST", "/assets/\(ticket)", Data("picture".utf8)).status == 200)
            let text = try await Self.text(of: path, lineCount: 4)
            #expect(
                !text.contains(ticket) && !text.contains("secret-key") && !text.contains("ckWebAuthToken"), "\(text)")
            let lines = try text.split(separator: "\n").map { try JSONSerialization.jsonObject(with: Data($0.utf8)) }
            let entries = lines.compactMap { $0 as? [String: Any] }
            #expect(entries.map { $0["status"] as? Int }.first == 200 && entries.count == 4)
            #expect(entries[0]["user"] as? String == "_secretive")
            #expect((entries[0]["path"] as? String)?.hasSuffix("/private/records/modify") == true)
            #expect(entries[1]["serverErrorCode"] as? String != nil)
            #expect(entries[3]["path"] as? String == "/assets/…")
            #expect(entries.allSatisfy { ($0["requestID"] as? String)?.count == 36 && $0["microseconds"] is Int })

            try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
            _ = try await rig.modify("create", "n2")
            #expect(try await Self.text(of: path, lineCount: 1).contains("records/modify"), "the file was rotated")
        }
    }

    @Test func `lines of the access log that a full disk refuses are counted`() async throws {
        let folder = try Folder()
        let path = folder.path + "/access.log"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
        try await GatewayRig.with(", accessLog: \(path)") { rig in
            for name in ["n1", "n2", "n3"] { _ = try await rig.modify("create", name) }
            try FileManager.default.removeItem(atPath: path)
            var requests = 3
            var counted = (written: 0, dropped: 0)
            repeat {
                requests += 1
                _ = try await rig.modify("create", "n\(requests)")
                let lines = try await Self.text(of: path, lineCount: 1).split(separator: "\n")
                let entries = try lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
                let dropped = entries.compactMap { $0?["dropped"] as? Int }
                counted = (entries.count - dropped.count, dropped.reduce(0, +))
            } while counted.written + counted.dropped < requests && requests < 50
            #expect(counted.dropped > 0 && counted.written + counted.dropped == requests)
        }
    }

    @Test(arguments: [true, false])
    func `only behind a proxy, the access log has the last address in X-Forwarded-For`(isBehindTLS: Bool) async throws {
        let folder = try Folder()
        let path = folder.path + "/access.log"
        try await GatewayRig.with(", accessLog: \(path), behindTLS: \(isBehindTLS)") { rig in
            let headers = ["X-Forwarded-For": "198.51.100.7, 192.0.2.1"]
            _ = try await rig.send("POST", Self.lookup, Data("{}".utf8), headers: headers)
            let text = try await Self.text(of: path, lineCount: 1)
            #expect(text.contains("192.0.2.1") == isBehindTLS && !text.contains("198.51.100.7"), "\(text)")
        }
    }

    @Test(arguments: [
        (lookup, lookup), ("/openapi.json", "/openapi.json"), ("/assets/1234-secret", "/assets/…"),
        ("/device/1/iCloud.a/production/tokens/create", "/device/1/iCloud.a/production/tokens/create"),
        ("/auth/1/iCloud.a/production/signin", "/auth/1/iCloud.a/production/signin"),
        (
            "/database/1/iCloud.a/production/public/users/current&ckAPIToken=secret",
            "/database/1/iCloud.a/production/public/…"
        ),
        ("/auth/1/iCloud.a/production/signin%3FckAPIToken=secret", "/auth/1/iCloud.a/production/…"),
        ("/database/1/iCloud.a/production/private;ckWebAuthToken=secret/records/query", "/database/…"),
        ("/database/1/iCloud.a&secret/production/private/records/query", "/database/…"),
        ("//assets/1234-secret", "/…"), ("/users/current&ckAPIToken=secret", "/…"), ("/secret", "/…"), ("", "/…"),
        ("secret", "/…"), ("/assets", "/…"), ("/a/../assets/1234-secret", "/…"),
    ])
    func `the access log shows only the parts of a path that are known words or containers`(
        path: String, logged: String
    ) {
        #expect(LoggedPath.text(path) == logged)
    }

    @Test func `an access log that cannot be written stops no request, and is reported once`() async throws {
        try await GatewayRig.with(", accessLog: /nowhere/access.log") { rig in
            for name in ["n1", "n2"] {
                let answer = try await rig.modify("create", name)
                #expect(answer.status == 200)
            }
            let failures = rig.messages.lines.withLock { lines in
                lines.count { $0.contains("/nowhere/access.log cannot be written: No such") }
            }
            #expect(failures == 1)
        }
    }

    /// The text of a file as soon as it has `count` lines or more. Empty if the file still has fewer lines after 10
    /// seconds.
    private static func text(of path: String, lineCount count: Int) async throws -> String {
        for _ in 0..<1_000 {
            if let text = try? String(contentsOfFile: path, encoding: .utf8),
                text.split(separator: "\n").count >= count
            {
                return text
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        return ""
    }
}
