import Foundation
import TestSupport
import Testing

/// Tests the modes of the files that a whole run leaves in its data folder.
@Suite(.timeLimit(.minutes(5)))
struct DataModeTests {
    /// Writes a pipeline file whose stages make many kinds of files: snapshots, dead letters, a journal of pushes in
    /// flight, a courier's store, and a file of pushes.
    ///
    /// - Parameter hook: The port of the webhook.
    private static func writePipeline(_ notes: Notes, mode: String?, hook: Int) throws {
        let data = mode.map { "{ path: data, mode: \"\($0)\" }" } ?? "data"
        try notes.write(
            """
            pipeline: notes
            data: \(data)
            log: { sync: interval 50ms, snapshotBytes: 4 KiB }
            stages:
              ingest: {}
              match: { from: ingest }
              coalesce: { from: match, window: 0s }
              payload: { from: coalesce }
              deliver:
                from: payload
                transports:
                  apns: { use: file, path: data/out/pushes.ndjson }
                  courier: { use: courier, listen: "127.0.0.1:0" }
                  hook: { use: webhook, url: "http://127.0.0.1:\(hook)/?key=hidden-query", privateNetworks: allow,
                    headers: { authorization: Bearer hidden-header } }

            """, to: "notes.yaml")
    }

    private static func device(_ name: String, _ transport: String, _ token: String) -> String {
        #"{"type":"device.register","container":"iCloud.com.example.Notes","environment":"development","user":"_alice","#
            + #""device":"\#(name)","transport":"\#(transport)","token":"\#(token)","topic":"com.example.Notes"}"#
            + "\n"
    }

    /// A user can have separate badges for at most sixteen topics, so the seventeenth command becomes a dead letter.
    private static var badges: String {
        (1...17).map {
            #"{"type":"badge.set","container":"iCloud.com.example.Notes","environment":"development","user":"_alice","#
                + #""topic":"t\#($0)","badge":\#($0)}"# + "\n"
        }.joined()
    }

    /// The modes of the folder and of everything below it, by path.
    private static func modes(_ folder: String) throws -> [String: UInt32] {
        var modes: [String: UInt32] = [:]
        for name in [""] + (try FileManager.default.subpathsOfDirectory(atPath: folder)).map({ "/" + $0 }) {
            var status = stat()
            // SQLite may remove its files at any time.
            if lstat(folder + name, &status) == 0 { modes[name] = status.st_mode }
        }
        return modes
    }

    /// Checks the modes of the folder and of everything below it.
    ///
    /// - Returns: The paths.
    private static func check(_ folder: String, folders: UInt32, files: UInt32) throws -> Set<String> {
        let modes = try modes(folder)
        for (name, mode) in modes {
            let wanted = mode & S_IFMT == S_IFDIR ? folders : files
            #expect(mode & 0o777 == wanted, "\(name): \(String(mode, radix: 8))")
        }
        return Set(modes.keys)
    }

    @Test(
        arguments: [(nil, "000", 0o700, 0o600), ("0750", "077", 0o750, 0o640)] as [(String?, String, UInt32, UInt32)])
    func `all files of a run have the data mode, regardless of the umask, and contain no secret in clear text`(
        mode: String?, umask: String, folders: UInt32, files: UInt32
    ) async throws {
        let (notes, closed) = (try Notes(), try ReservedPort())
        try Self.writePipeline(notes, mode: mode, hook: closed.number)
        let data = notes.folder + "/data"
        let up = try Program("belfry", ["up", notes.pipeline], umask: umask)
        await up.waitForMessage("deliver: ready")
        let input =
            Notes.phone() + Self.device("alice-web", "courier", String(repeating: "ab", count: 32))
            + Self.device("alice-hook", "hook", "hook") + Self.badges + Notes.changes(0..<40)
        #expect(try await Program.run("belfry", ["send", notes.pipeline], input: input).status == 0)
        let arguments = ["tap", "deliver", "-p", notes.pipeline, "--from", "1", "--limit", "120", "--bare"]
        #expect(try await Program.run("belfry", arguments).status == 0)
        let running = try Self.check(data, folders: folders, files: files)
        for name in ["/match.link", "/ingest.door", "/logs/outcomes/under-way.0", "/logs/outcomes/courier.sqlite-wal"] {
            #expect(running.contains(name), "\(name) in \(running.sorted())")
        }
        up.signal(SIGTERM)
        #expect(await up.result().status == 0)
        let again = try Program("belfry", ["up", notes.pipeline], umask: umask)
        await again.waitForMessage("deliver: ready")
        #expect(try await Program.run("belfry", ["send", notes.pipeline], input: Notes.changes(40..<42)).status == 0)
        let more = ["tap", "deliver", "-p", notes.pipeline, "--from", "121", "--limit", "6", "--bare"]
        #expect(try await Program.run("belfry", more).status == 0)
        again.signal(SIGTERM)
        #expect(await again.result().status == 0)
        let replayed = try await Command.run(["replay", notes.pipeline])
        #expect(replayed.status == 0, "\(replayed)")
        let torn = data + "/logs/outcomes/00000000000000000001.log"
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: torn))
        try handle.truncate(atOffset: handle.seekToEnd() - 3)
        try handle.close()
        for arguments in [["trace", "25", "-p", notes.pipeline], ["log", "repair", data + "/logs/outcomes", "--yes"]] {
            let result = try Program("belfry", arguments, umask: umask)
            #expect(await result.result().status == 0, "\(arguments)")
        }
        let left = try Self.check(data, folders: folders, files: files)
        for part in [
            "/snapshots/", "pushes.dead-letters/", "/index/", "/damaged-", "/settings.ndjson", "/out/pushes.ndjson",
        ] {
            #expect(left.contains { $0.contains(part) }, "\(part) in \(left.sorted())")
        }
        for name in left where !name.hasSuffix(".link") && !name.hasSuffix(".door") {
            guard let content = FileManager.default.contents(atPath: data + name) else { continue }
            #expect(content.firstRange(of: Data("hidden-".utf8)) == nil, "\(name) contains a secret in clear text")
        }
        #expect(try await Command.run(["doctor", notes.pipeline, "--only", "data"]).status == 0)
    }

    @Test func `files with a wider mode are reported with the command that corrects it`() async throws {
        let notes = try await Notes.recorded()
        func doctor() async throws -> Program.Result {
            try await Command.run(["doctor", notes.pipeline, "--logs", notes.logs, "--only", "data"])
        }
        #expect(try await doctor().status == 0)
        chmod(notes.logs + "/matches/log.json", 0o644)
        let one = try await doctor()
        #expect(one.status == 1 && one.output.contains(#""code":"data.wide""#), "\(one)")
        #expect(
            one.output.contains(
                "\(notes.logs)/matches/log.json can be accessed by users who do not own it (mode 0644)"))
        #expect(one.output.contains(#""fix":"chmod go-rwx \#(notes.logs)/matches/log.json "#), "\(one)")
        chmod(notes.logs, 0o755)
        let more = try await doctor()
        #expect(
            more.output.contains(
                "\(notes.logs) can be accessed by users who do not own it (mode 0755); so can 1 more item in"))
        let fix = try #require(more.output.firstMatch(of: #/"fix":"(chmod [^ ]* [^ ]* [^ ]*) /#)?.1)
        let mended = try Self.sh(String(fix))
        #expect(mended == 0)
        #expect(try await doctor().status == 0)
        try notes.write(
            notes.read("notes.yaml").replacing("data: data", with: "data: {path: data, mode: 0755}"), to: "notes.yaml")
        chmod(notes.logs, 0o755)
        #expect(try await doctor().status == 0)
    }

    @Test
    func
        `send refuses a producers' secret that others can access, and works once the doctor's advice is followed`()
        async throws
    {
        let notes = try Notes()
        try notes.write(
            notes.read("notes.yaml").replacing("data: data", with: "data: {path: data, mode: '0750'}"), to: "notes.yaml"
        )
        let (data, secret) = (notes.folder + "/data", notes.folder + "/data/producer.secret")
        let program = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await program.waitForMessage("running")
        let input = try notes.write(Notes.change("n1"), to: "in.ndjson")
        func send() async throws -> Program.Result {
            try await Command.run(["send", notes.pipeline, "--producer", "q", input])
        }
        func doctor() async throws -> Program.Result {
            try await Command.run(["doctor", notes.pipeline, "--only", "data"])
        }
        #expect(try await send().status == 0)
        #expect(try await doctor().status == 0)
        for widen in ["chmod 640 \(secret)", "chmod -R a+rwX \(data)", "chmod -R g+w \(data)"] {
            #expect(try Self.sh(widen) == 0)
            let refused = try await send()
            #expect(refused.status == 78 && refused.errors.contains("chmod 600"), "\(refused)")
            let result = try await doctor()
            #expect(result.status == 1 && result.output.contains("producer.secret"), "\(result)")
            let fix = try #require(result.output.firstMatch(of: #/"fix":"(chmod [^(]*) \(/#)?.1)
            #expect(fix.contains("chmod 600 \(secret)"))
            #expect(try Self.sh(String(fix)) == 0)
            #expect(try await doctor().status == 0)
            #expect(try await send().status == 0)
        }
        program.signal(SIGTERM)
        #expect(await program.result().status == 0)
    }

    private static func sh(_ command: String) throws -> Int32 {
        Cost.spend(.processes)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}
