import Foundation
import TestSupport
import Testing

/// An operator makes keys, lists them in the pipeline file, uses them with `belfry send`, `tap` and `doctor`, and
/// rotates them.
@Suite(.timeLimit(.minutes(5)))
struct CurveCommandTests {
    private func makeKey(_ notes: Notes, _ name: String) async throws -> String {
        let made = try await Command.run(["curve", "make", notes.folder + "/" + name])
        try #require(made.status == 0, "\(made)")
        return String(made.output.dropLast())
    }

    @Test func `only the owner can read a key file, and no key is overwritten`() async throws {
        let notes = try Notes()
        let key = try await makeKey(notes, "shop.key")
        let path = notes.folder + "/shop.key"
        #expect(key.utf8.count == 40)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let again = try await Command.run(["curve", "make", path])
        #expect(again.status == 73 && again.errors.contains("it was not changed"), "\(again)")
        #expect(try await Command.run(["curve", "show", path]).output == key + "\n")
        // `keys` is the former name of `curve`.
        #expect(try await Command.run(["keys", "show", path]).output == key + "\n")
        #expect(try !notes.read("shop.key").contains(key))
        #expect(try await Command.run(["curve", "show", notes.folder + "/missing"]).status == 66)
        #expect(chmod(path, 0o644) == 0)
        let open = try await Command.run(["curve", "show", path])
        #expect(open.status == 78 && open.errors.contains("chmod 600"), "\(open)")
        let wrong = try await Command.run(["curve", "show", notes.pipeline])
        #expect(wrong.status == 78, "\(wrong)")
    }

    @Test func `a key is rotated in two steps`() async throws {
        let notes = try Notes()
        let old = try await makeKey(notes, "shop.key")
        let path = notes.folder + "/shop.key"
        #expect(try await Command.run(["curve", "rotate", path, "--finish"]).status == 66)
        let next = try await Command.run(["curve", "rotate", path])
        let new = String(next.output.dropLast())
        #expect(next.status == 0 && next.errors.contains("['\(old)', '\(new)']"), "\(next)")
        #expect(try await Command.run(["curve", "rotate", path]).status == 73)
        #expect(try await Command.run(["curve", "show", path, path + ".next"]).output == "\(old)\n\(new)\n")
        #expect(try await Command.run(["curve", "rotate", path, "--finish"]).output == new + "\n")
        #expect(try await Command.run(["curve", "show", path]).output == new + "\n")
        #expect(!FileManager.default.fileExists(atPath: path + ".next"))
    }

    /// Writes a pipeline file with only the stage ingest. The door and the link of ingest need keys: `shop` may send,
    /// `screen` may read.
    ///
    /// - Returns: The text of the file and the public key of ingest.
    private func writePipelineWithKeys(_ notes: Notes) async throws -> (yaml: String, ingest: String) {
        let ingest = try await makeKey(notes, "ingest.key")
        let curve = """
            curve: {publicKey: '\(ingest)', secretKey: {$file: ingest.key}, \
            producers: {shop: '\(try await makeKey(notes, "shop.key"))'}, \
            readers: {screen: '\(try await makeKey(notes, "screen.key"))'}}
            """
        let yaml = """
            pipeline: keyed
            data: data
            stages:
              ingest: {\(curve)}
            """
        try notes.write(yaml, to: "notes.yaml")
        return (yaml, ingest)
    }

    @Test(arguments: ["{$file: none.key}", "{$env: BELFRY_NO_SUCH}", "{$credential: none}"])
    func `without a stage's secret key the pipeline file is valid, but the stage does not start`(
        secret: String
    ) async throws {
        let notes = try Notes()
        let pipeline = try await notes.write(
            writePipelineWithKeys(notes).yaml.replacing("{$file: ingest.key}", with: secret), to: "notes.yaml")
        let result = try await Command.run(["validate", pipeline])
        #expect(result.status == 0 && result.output.contains("is valid"), "\(result)")
        let isFile = secret.contains("$file")
        #expect(result.errors.contains("warning: \(pipeline):4:") == isFile, "\(result)")
        #expect(result.errors.contains("stages.ingest.curve.secretKey: cannot open") == isFile, "\(result)")
        let started = try await Program.run("belfry-ingest", ["--pipeline", pipeline])
        #expect(started.status == 78, "\(started)")
        #expect(started.errors.contains("\(pipeline):4:") && started.errors.contains("stages.ingest.curve.secretKey: "))
    }

    @Test func `a wrong secret key file is reported with file, line and advice`() async throws {
        let notes = try Notes()
        _ = try await writePipelineWithKeys(notes)
        try notes.write("hunter2", to: "ingest.key")
        for command in [["validate", notes.pipeline], ["doctor", notes.pipeline, "--only", "file"]] {
            let result = try await Command.run(command)
            let text = result.output + result.errors
            #expect(result.status != 0 && text.contains("\(notes.pipeline):4:"), "\(result)")
            #expect(
                text.contains(
                    "stages.ingest.curve.secretKey: \(notes.folder)/ingest.key holds no secret key; a secret key has "
                        + "40 characters of Z85; make one with `belfry curve make FILE`"), "\(result)")
            #expect(!text.contains("hunter2"))
        }
        let started = try await Program.run("belfry-ingest", ["--pipeline", notes.pipeline])
        #expect(started.status == 78 && started.errors.contains("ingest.key holds no secret key"), "\(started)")
    }

    @Test func `a stage without a key cannot read from a stage with keys, and nothing starts`() async throws {
        let notes = try Notes()
        try await notes.write(writePipelineWithKeys(notes).yaml + "\n  match: {from: ingest}\n", to: "notes.yaml")
        for command in [["validate"], ["doctor"], ["up"]] {
            let result = try await Command.run(command + [notes.pipeline])
            let text = result.output + result.errors
            #expect(result.status != 0, "\(result)")
            #expect(
                text.contains(
                    "\(notes.pipeline):5:3: stages.match.curve: required: ingest has keys, so a stage without a key"),
                "\(result)")
        }
    }

    @Test func `send, tap and doctor use the given key, and report a key that is not listed`() async throws {
        let notes = try Notes()
        let ingest = try await writePipelineWithKeys(notes).ingest
        let program = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await program.waitForMessage("running")
        let input = try notes.write(Notes.phone() + Notes.change("n1"), to: "in.ndjson")
        let door = "ipc://\(notes.folder)/data/ingest.door"
        func key(_ name: String) -> [String] { ["--key", "\(notes.folder)/\(name).key"] }
        func send(with key: [String]) async throws -> Program.Result {
            try await Command.run(
                ["send", "--door", door, "--server-key", ingest, "--producer", "orders", input] + key)
        }

        let refused = try await send(with: key("screen"))
        #expect(refused.status == 77 && refused.errors.contains("is not listed for producing"), "\(refused)")
        await program.waitForMessage("is not listed under `curve: producers`")
        #expect(try await send(with: key("shop")).errors == "3 lines sent\n")
        #expect(try await send(with: key("shop")).errors == "0 lines sent, 3 accepted in an earlier run\n")
        // The stage's own key may send, but not under a name that belongs to another key.
        let own = try await Command.run(["send", notes.pipeline, "--producer", "orders", input])
        #expect(own.status == 77 && own.errors.contains("(door.owner)"), "\(own)")
        #expect(try await Command.run(["send", notes.pipeline], input: Notes.change("n2")).status == 0)
        let none = try await Command.run(["send", "--door", door], input: Notes.change("n3"))
        #expect(none.status == 77 && none.errors.contains("a key is required"), "\(none)")

        let tap = ["tap", "ingest", "-p", notes.pipeline, "--from", "1", "--limit", "3", "--bare"]
        let read = try await Program.run("belfry", tap + key("screen"))
        #expect(read.status == 0 && read.output.split(separator: "\n").count == 3, "\(read)")
        let unread = try await Program.run("belfry", tap + key("shop"))
        #expect(unread.status == 77 && unread.errors.contains("is not listed for reading"), "\(unread)")

        let doctor = ["doctor", notes.pipeline, "--only", "health", "--json"]
        #expect(try await Command.run(doctor).output.contains("health.running"))
        #expect(try await Command.run(doctor + key("screen")).output.contains("health.running"))
        let unlisted = try await Command.run(doctor + key("shop"))
        #expect(unlisted.status == 1 && unlisted.output.contains("health.refused"), "\(unlisted)")
        program.signal(SIGTERM)
        #expect(await program.result().status == 0)
    }

    @Test func `while the key of a client or of the stage is rotated, no request is rejected`() async throws {
        let notes = try Notes()
        let (yaml, ingest) = try await writePipelineWithKeys(notes)
        let program = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await program.waitForMessage("running")
        let shop = notes.folder + "/shop.key"
        let old = String(try await Command.run(["curve", "show", shop]).output.dropLast())
        func send(_ name: String, serverKeys: [String]) async throws -> Program.Result {
            let keys = serverKeys.flatMap { ["--server-key", $0] } + ["--key", shop, "--timeout", "20"]
            let door = "ipc://\(notes.folder)/data/ingest.door"
            return try await Command.run(["send", "--door", door] + keys, input: Notes.change(name))
        }
        let new = String(try await Command.run(["curve", "rotate", shop]).output.dropLast())
        let both = yaml.replacing("'\(old)'", with: "['\(old)', '\(new)']")
        try notes.write(both, to: "notes.yaml")
        program.signal(SIGHUP)
        #expect(await program.waitForMessage("reloaded") != nil)
        #expect(try await send("n1", serverKeys: [ingest]).status == 0)
        #expect(try await Command.run(["curve", "rotate", shop, "--finish"]).status == 0)
        #expect(try await send("n2", serverKeys: [ingest]).status == 0)

        let path = notes.folder + "/ingest.key"
        let next = String(try await Command.run(["curve", "rotate", path]).output.dropLast())
        let known = both.replacing("publicKey: '\(ingest)'", with: "publicKey: ['\(ingest)', '\(next)']")
        #expect(try await send("n3", serverKeys: [next, ingest]).status == 0)
        #expect(try await Command.run(["curve", "rotate", path, "--finish"]).status == 0)
        try notes.write(known, to: "notes.yaml")
        program.signal(SIGHUP)
        #expect(try await send("n4", serverKeys: [ingest, next]).status == 0)
        // A client that knows only the new key of the stage can connect as soon as the stage uses this key.
        #expect(try await send("n5", serverKeys: [next]).status == 0)
        program.signal(SIGTERM)
        #expect(await program.result().status == 0)
    }

    @Test func `a running stage whose key differs from its key file is reported`() async throws {
        let notes = try Notes()
        let (yaml, old) = try await writePipelineWithKeys(notes)
        let program = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await program.waitForMessage("running")
        let path = notes.folder + "/ingest.key"
        let new = String(try await Command.run(["curve", "rotate", path]).output.dropLast())
        #expect(try await Command.run(["curve", "rotate", path, "--finish"]).status == 0)
        try notes.write(yaml.replacing(old, with: new), to: "notes.yaml")
        let said = "the other side hangs up: it has another key than \(new)"
        let sent = try await Command.run(["send", notes.pipeline, "--timeout", "2"], input: Notes.change("n1"))
        #expect(sent.status == 69 && sent.errors.contains(said), "\(sent)")
        let tapped = try await Command.run(["tap", "ingest", "-p", notes.pipeline, "--timeout", "2"])
        #expect(tapped.status == 69 && tapped.errors.contains(said), "\(tapped)")
        let found = try await Command.run(["doctor", notes.pipeline, "--only", "health"])
        #expect(found.status == 1 && found.output.contains(said) && found.output.contains("SIGHUP"), "\(found)")
        program.signal(SIGTERM)
        #expect(await program.result().status == 0)
    }

    @Test func `a producer continues under its name when the pipeline starts or stops using keys`() async throws {
        let notes = try Notes()
        let keyed = try await writePipelineWithKeys(notes).yaml
        let open = "pipeline: keyed\ndata: data\nstages:\n  ingest: {}\n"
        for (round, yaml) in [keyed, open, keyed].enumerated() {
            try notes.write(yaml, to: "notes.yaml")
            let program = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
            await program.waitForMessage("running")
            let input = try notes.write(Notes.changes(0..<round + 1), to: "in.ndjson")
            let sent = try await Command.run(["send", notes.pipeline, "--producer", "orders", input])
            #expect(sent.errors.hasPrefix("1 line sent"), "\(sent)")
            program.signal(SIGTERM)
            #expect(await program.result().status == 0)
        }
    }

    @Test(.enabled(if: Python.hasZeroMQ, Comment(rawValue: Python.missing)))
    func `a producer and a consumer in Python connect with keys`() async throws {
        let notes = try Notes()
        let ingest = try await writePipelineWithKeys(notes).ingest
        let program = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await program.waitForMessage("running")
        func send(_ lines: String, _ key: String) async throws -> Program.Result {
            try await Program.run(
                Python.program,
                [
                    Python.clients + "/producer.py", "ipc://\(notes.folder)/data/ingest.door", "orders", "--key",
                    "\(notes.folder)/\(key).key", "--server-key", ingest,
                ], input: lines)
        }
        let lines = Notes.phone() + Notes.change("n1")
        #expect(try await send(lines, "shop").errors.hasSuffix("3 lines sent, 0 refused\n"))
        let again = try await send(lines + "garbage\n", "shop")
        let earlier = "3 lines were sent in an earlier run, 0 of them refused\n"
        #expect(again.status == 65 && again.errors.hasPrefix(earlier), "\(again)")
        let other = try await send("other lines\n" + lines, "shop")
        #expect(other.status == 65 && other.errors.contains("does not begin with the 4 lines"), "\(other)")
        let refused = try await send(lines, "screen")
        #expect(refused.status == 77 && refused.errors.contains("not listed for producing"), "\(refused)")
        func read(_ key: String) async throws -> Program.Result {
            let link = ["ipc://\(notes.folder)/data/ingest.link", "\(notes.folder)/position", "--limit", "1"]
            let keys = ["--key", "\(notes.folder)/\(key).key", "--server-key", ingest]
            return try await Program.run(Python.program, [Python.clients + "/consumer.py"] + link + keys)
        }
        #expect(try await read("screen").output.hasPrefix(#"{"sequence":1,"event":{"#))
        let unread = try await read("shop").errors
        #expect(unread == "the key is not listed for reading at ipc://\(notes.folder)/data/ingest.link\n")
        program.signal(SIGTERM)
        #expect(await program.result().status == 0)
    }
}
