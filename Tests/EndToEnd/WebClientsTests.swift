import Foundation
import TestSupport
import Testing

/// Tests of a gateway that `belfry up` started. Most of them use clients that contain none of Belfry's libraries.
@Suite(.timeLimit(.minutes(10)))
struct WebClientsTests {
    /// pyicloud and schemathesis are not in Debian. `deploy/test --full` installs them.
    private enum Venv {
        static let folder = ProcessInfo.processInfo.environment["BELFRY_WEB_VENV"] ?? ""
        static let isInstalled = FileManager.default.isExecutableFile(atPath: folder + "/bin/python")
        static let missing: Comment =
            "BELFRY_WEB_VENV names no Python environment with pyicloud and schemathesis; deploy/test --full makes one"
    }

    private static let scripts =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Support").path

    @Test(.full, .enabled(if: Venv.isInstalled, Venv.missing))
    func `pyicloud's CloudKit client works unchanged`() async throws {
        // The script puts a proxy with TLS in front of the gateway.
        try await withGateway(", behindTLS: true") { address in
            let result = try await Program.run(
                Venv.folder + "/bin/python", [Self.scripts + "/web_clients.py", address])
            #expect(result.status == 0, "\(result.output)\(result.errors)")
        }
    }

    @Test(.full, .enabled(if: Venv.isInstalled, Venv.missing))
    func `the OpenAPI document describes every answer to a generated request`() async throws {
        try await withGateway { address in
            let result = try await Program.run("/bin/sh", [Self.scripts + "/schemathesis.sh", address, "150"])
            #expect(result.status == 0, "\(result.output)\(result.errors)")
        }
    }

    @Test func `openssl and curl can sign and send a request; another key or database is refused`() async throws {
        let folder = try Folder()
        for name in ["own", "other"] {
            let made = try await Program.run(
                "/usr/bin/openssl",
                ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder.file(name)])
            try #require(made.status == 0, "\(made)")
        }
        let key = try await ServerKey.write(for: folder.file("own"), to: folder.file("keys.json"))
        try await withGateway(#", keys: "\#(folder.file("keys.json"))""#) { address in
            func send(_ action: String, _ body: String, key file: String = "own") async throws -> Program.Result {
                try await Program.run(
                    "/bin/sh",
                    [
                        Self.scripts + "/signed_request.sh", address, key, folder.file(file),
                        "/database/1/iCloud.com.example.Shop/development/\(action)", body,
                    ])
            }
            let saved = try await send(
                "public/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordName":"s1","recordType":"Shop"}}]}"#)
            #expect(saved.status == 0 && saved.output.contains(#""recordName":"s1","recordType":"Shop""#), "\(saved)")
            let query = #"{"query":{"recordType":"Shop"}}"#
            let found = try await send("public/records/query", query)
            #expect(found.status == 0 && found.output.contains(#""userRecordName":"_importer""#), "\(found)")
            let forged = try await send("public/records/query", query, key: "other")
            #expect(forged.status == 1 && forged.output.contains("AUTHENTICATION_FAILED"), "\(forged)")
            let elsewhere = try await send("private/records/query", query)
            #expect(elsewhere.status == 1 && elsewhere.output.contains("ACCESS_DENIED"), "\(elsewhere)")
        }
    }

    @Test func `a store can be copied while its gateway runs, but rebuilt only after it stopped`() async throws {
        let folder = try Folder()
        let (pipeline, copy) = (folder.file("web.yaml"), folder.file("copy"))
        func belfry(_ arguments: String...) async throws -> Program.Result {
            try await Program.run("belfry", arguments)
        }
        try await withGateway(in: folder) { address in
            let saved = try await Program.run(
                "/usr/bin/curl",
                [
                    "--silent", "--data",
                    #"{"operations":[{"operationType":"create","record":{"recordName":"n1","recordType":"Note"}}]}"#,
                    address
                        + "/database/1/iCloud.com.example.Shop/development/private/records/modify?ckWebAuthToken=_a",
                ])
            #expect(saved.output.contains("recordChangeTag"), "\(saved)")
            let copied = try await belfry("store", "copy", pipeline, copy)
            #expect(copied.status == 0 && copied.output.contains(#""records":1"#), "\(copied)")
            let refused = try await belfry("store", "rebuild", pipeline)
            #expect(refused.status == 69 && refused.errors.contains("is used by process "), "\(refused)")
            #expect(refused.errors.contains("stop the `belfry up`"), "\(refused)")
            let second = try await belfry("api", "--pipeline", pipeline)
            #expect(second.status == 69 && second.errors.contains("is used by process "), "\(second)")
        }
        let rebuilt = try await belfry("store", "rebuild", pipeline)
        #expect(rebuilt.status == 0 && rebuilt.output.contains(#""records":1,"zones":1"#), "\(rebuilt)")
        let checked = try await belfry("doctor", pipeline, "--only", "store")
        #expect(checked.status == 0 && checked.output.contains(#""code":"store.whole""#), "\(checked)")
        try Data("no store".utf8).write(to: URL(fileURLWithPath: folder.file("data/api/store.sqlite")))
        let damaged = try await belfry("doctor", pipeline, "--only", "store")
        #expect(damaged.status == 1 && damaged.output.contains("belfry store rebuild"), "\(damaged)")
    }

    @Test func `doctor reports a gateway that hangs, although all stages run`() async throws {
        let folder = try Folder()
        try await withGateway(in: folder) { _, up in
            await up.waitForMessage("deliver: ready")
            func doctor() async throws -> Program.Result {
                try await Program.run("belfry", ["doctor", folder.file("web.yaml"), "--only", "health"])
            }
            let healthy = try await doctor()
            #expect(healthy.status == 0 && healthy.output.contains("deliver, api: running"), "\(healthy)")
            let place = try String(contentsOfFile: folder.file("data/api/gateway.json"), encoding: .utf8)
            let process = try #require(place.firstMatch(of: /"process":([0-9]+)/).flatMap { Int32($0.1) })
            #expect(kill(process, SIGSTOP) == 0)
            let hanging = try await doctor()
            #expect(kill(process, SIGCONT) == 0)
            #expect(hanging.status == 1 && hanging.output.contains(#""code":"health.gateway_silent""#), "\(hanging)")
        }
    }

    /// Opens more connections than the limit of 10,000, from five addresses, because a quarter of the limit applies to
    /// each address. Sends a request on the first connection, and prints how many of the others are open.
    private static let idleConnectionsScript = """
        import socket, sys
        def connect(number):
            source = (f"127.0.0.{2 + number % 5}", 0)
            return socket.create_connection(("127.0.0.1", int(sys.argv[1])), source_address=source)
        connections = [connect(number) for number in range(10_050)]
        connections[0].sendall(b"GET /openapi.json HTTP/1.1\\r\\nhost: localhost\\r\\n\\r\\n")
        assert connections[0].recv(12) == b"HTTP/1.1 200"
        def is_open(connection):
            connection.settimeout(0.0)
            try: return connection.recv(1) != b""
            except BlockingIOError: return True
            except ConnectionResetError: return False
        connections[-1].settimeout(30)
        try: assert connections[-1].recv(1) == b""
        except ConnectionResetError: pass
        print(sum(map(is_open, connections[1:])))
        """

    @Test(.full)
    func `with ten thousand idle connections, a request is answered and further connections are closed`() async throws {
        try await withGateway { address in
            let port = String(address.split(separator: ":").last ?? "")
            let result = try await Program.run(Python.program, ["-c", Self.idleConnectionsScript, port])
            #expect(result.status == 0 && result.output == "9999\n", "\(result)")
        }
    }

    @Test(.full, arguments: [1, 2, Int.random(in: 3...1_000_000)])
    func `no concurrent write is lost or repeated while the gateway and ingest are killed`(seed: Int) async throws {
        let folder = try Folder()
        let belfry = try Program.folder() + "/belfry"
        // The gateway that is started again must listen at the same port.
        let port = try ReservedPort(forServer: true)
        try await withGateway(in: folder, port: port.number) { _, up in
            let result = try await Program.run(
                Python.program,
                [
                    Self.scripts + "/web_writers.py", "--ports", "\(port.number)", "--log",
                    "\(belfry) log show \(folder.file("data/logs/changes"))", "--up", "\(up.pid)", "--kill",
                    "api,ingest,both", "--writers", "64", "--seconds", "40", "--every",
                    "5", "--seed", "\(seed)",
                ])
            #expect(result.status == 0, "seed \(seed): \(result.output)\(result.errors)")
        }
    }

    /// Calls `body` with the address of a gateway that `belfry up` started.
    ///
    /// - Parameters:
    ///   - settings: Further settings of the gateway, each after a comma.
    ///   - folder: The folder of the pipeline file. Nil for a new folder.
    private func withGateway(
        _ settings: String = "", in folder: Folder? = nil, _ body: (String) async throws -> Void
    ) async throws {
        try await withGateway(settings, in: folder) { address, _ in try await body(address) }
    }

    private func withGateway(
        _ settings: String = "", in folder: Folder? = nil, port: Int = 0,
        _ body: (String, Program) async throws -> Void
    ) async throws {
        let folder = try folder ?? Folder()
        let pipeline = try folder.write(
            """
            pipeline: web
            data: data
            log: {sync: never}
            stages:
              ingest: {}
              match: {from: ingest}
              coalesce: {from: match}
              payload: {from: coalesce}
              deliver: {from: payload, transports: {apns: {use: console}}}
            api: {listen: "127.0.0.1:\(port)"\(settings)}

            """, to: "web.yaml")
        let up = try Program("belfry", ["up", pipeline])
        let ready = try #require(await up.waitForMessage("api: ready, "))
        let address = try #require(ready.split(separator: " ").first { $0.hasPrefix("http://") })
        try await body(String(address), up)
        up.signal(SIGTERM)
        #expect(await up.result().status == 0)
    }
}

private enum ServerKey {
    /// Writes a file of keys with one server-to-server key.
    ///
    /// - Returns: The key's ID.
    static func write(for privateKeyFile: String, to path: String) async throws -> String {
        let made = try await Program.run(
            "/bin/sh", ["-c", "openssl ec -in \(privateKeyFile) -pubout -outform DER | od -An -tx1 | tr -d ' \\n'"])
        try #require(made.status == 0 && !made.output.isEmpty, "\(made)")
        let id = String(repeating: "1a", count: 32)
        let text = """
            {"format":1,"secret":"\(String(repeating: "07", count: 32))","keys":[{"id":"\(id)","name":"importer",\
            "created":"2026-11-20T09:30:00Z","container":"iCloud.com.example.Shop","environments":["development"],\
            "databases":["public"],"readOnly":false,"kind":"server","publicKey":"\(made.output)",\
            "user":"_importer"}],"signOuts":[]}

            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return id
    }
}
