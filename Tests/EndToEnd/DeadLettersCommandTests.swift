import EventLog
import Foundation
import Synchronization
import TestSupport
import Testing
import Time

/// Lists and redrives dead letters: pushes that a server rejects, and commands that a stage rejects.
@Suite(.timeLimit(.minutes(5)))
struct DeadLettersCommandTests {
    /// A receiver of pushes that rejects all pushes until ``acceptPushes()`` is called.
    private final class Receiver: Sendable {
        private let rejectsPushes = Mutex(true)
        private let server = Mutex<TestServer?>(nil)

        var url: String { server.withLock { $0?.url ?? "" } }

        init() {
            let server = TestServer { [weak self] _, _ in
                self?.rejectsPushes.withLock { $0 } ?? true
                    ? .status(400, body: "broken") : .status(200)
            }
            self.server.withLock { $0 = server }
        }

        deinit { server.withLock { $0?.stop() } }

        func acceptPushes() { rejectsPushes.withLock { $0 = false } }

        /// Device and record of each received push.
        var pushes: [String] {
            let bodies = server.withLock { $0?.requests.map(\.body) ?? [] }
            return bodies.compactMap { body in
                guard let device = body.firstMatch(of: /"device":"([^"]*)"/)?.1,
                    let record = body.firstMatch(of: /"rid":"([^"]*)"/)?.1
                else { return nil }
                return "\(device) \(record)"
            }
        }
    }

    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private static func register(_ device: String, _ token: String, of user: String = "_alice") -> String {
        #"{"type":"device.register",\#(place),"user":"\#(user)","device":"\#(device)","transport":"apns","#
            + #""token":"\#(token)","topic":"com.example.Notes"}"# + "\n"
    }

    private static func unregister(_ device: String) -> String {
        #"{"type":"device.unregister",\#(place),"user":"_alice","device":"\#(device)"}"# + "\n"
    }

    private static func subscribe(_ user: String, _ info: String = "") -> String {
        #"{"type":"subscription.save",\#(place),"database":"public","user":"\#(user)","subscription":"#
            + #"{"subscriptionID":"feed","subscriptionType":"query","query":{"recordType":"Note"},"zoneWide":true,"#
            + #""firesOn":["create"],"notificationInfo":{"alertBody":"A note"\#(info)}}}"# + "\n"
    }

    private static func note(_ name: String) -> String {
        #"{"type":"record.save",\#(place),"database":"public","record":{"recordName":"\#(name)","recordType":"Note","#
            + #""fields":{}}}"# + "\n"
    }

    /// Starts a pipeline that delivers to the receiver.
    private func start(_ receiver: Receiver) async throws -> (Notes, Program) {
        let notes = try Notes()
        let webhook = "{ use: webhook, url: \"\(receiver.url)\", privateNetworks: allow, attempts: 1 }"
        let yaml = try notes.read("notes.yaml").replacing("{ use: file, path: pushes.ndjson }", with: webhook)
        try notes.write(yaml, to: "notes.yaml")
        let up = try Program("belfry", ["up", notes.pipeline])
        await up.waitForMessage("deliver: ready")
        return (notes, up)
    }

    /// Sends commands, and waits until the outcomes log has this many events.
    private func send(_ commands: String, to notes: Notes, outcomes: Int) async throws {
        let sent = try await Program.run("belfry", ["send", notes.pipeline], input: commands)
        #expect(sent.status == 0, "\(sent)")
        try await waitForOutcomes(outcomes, of: notes)
    }

    private func waitForOutcomes(_ outcomes: Int, of notes: Notes) async throws {
        let tap = try await Program.run(
            "belfry", ["tap", "deliver", "-p", notes.pipeline, "--from", "1", "--limit", "\(outcomes)", "--bare"])
        #expect(tap.output.split(separator: "\n").count == outcomes)
    }

    /// Runs `belfry dead-letters`.
    private func deadLetters(_ notes: Notes, _ arguments: String...) async throws -> Program.Result {
        let result = try await Command.run(["dead-letters"] + arguments + [notes.pipeline])
        #expect(result.isNDJSON, "\(result)")
        return result
    }

    @Test func `failed pushes are listed, and pushes that are not obsolete are redriven once`() async throws {
        let receiver = Receiver()
        let (notes, up) = try await start(receiver)
        let devices =
            Self.register("alice-phone", "1") + Self.register("alice-mac", "2") + Self.register("alice-pad", "3")
            + Self.register("bob-watch", "4", of: "_bob")
        let subscriptions = Self.subscribe("_alice") + Self.subscribe("_bob", #","collapseIDKey":"notes""#)
        try await send(
            devices + subscriptions + Self.note("n1") + Self.note("n2"), to: notes, outcomes: 8)
        #expect(receiver.pushes.count == 8)
        let list = try await deadLetters(notes)
        #expect(list.status == 0)
        #expect(
            list.output.contains(
                #""letters":8,"redrivable":7,"groups":[{"stage":"deliver","code":"failed","status":400,"reason":"#),
            "\(list.output.suffix(400))")

        receiver.acceptPushes()
        try await send(
            Self.unregister("alice-pad") + Self.register("alice-mac", "5") + Self.note("n3"), to: notes, outcomes: 11)
        let before = receiver.pushes
        let preview = try await deadLetters(notes, "redrive")
        #expect(preview.status == 1 && preview.errors == "nothing was sent; add --yes to send\n", "\(preview.errors)")
        #expect(
            preview.output.contains(
                #""letters":8,"redrivable":2,"selected":2,"limit":1000,"sent":0,"refused":0,"apps":[{"container":"#
                    + #""iCloud.com.example.Notes","environment":"development","topic":"com.example.Notes","#
                    + #""transport":"apns","pushes":2,"devices":1,"users":1}],"obsolete":{"device.registered_anew":2,"#
                    + #""device.unregistered":2,"superseded":2},"impossible":0}"#), "\(preview.output.suffix(500))")
        #expect(receiver.pushes == before)

        let question = ["explain", "--change", "7", "--device", "alice-phone", "-p", notes.pipeline]
        #expect(try await Command.run(question).status == 1)

        let first = try await deadLetters(notes, "redrive", "--limit", "1", "--yes")
        #expect(first.status == 0, "\(first)")
        #expect(first.errors == "1 letter redriven, 0 refused; 1 more can be redriven: run the same command again\n")
        try await waitForOutcomes(12, of: notes)
        let second = try await deadLetters(notes, "redrive", "--yes")
        #expect(second.status == 0 && second.errors == "1 letter redriven, 0 refused\n", "\(second.errors)")
        try await waitForOutcomes(13, of: notes)
        #expect(Array(receiver.pushes.dropFirst(before.count)) == ["alice-phone n1", "alice-phone n2"])

        let explained = try await Command.run(question)
        #expect(explained.status == 0, "\(explained)")
        #expect(explained.output.contains("transport apns accepted the push to alice-phone (redrive)"))
        let traced = try await Command.run(["trace", "7", "-p", notes.pipeline])
        #expect(traced.output.contains(#""type":"push.redrive","#), "\(traced)")

        let export = try await Command.run(["trace", "outcomes:12", "-p", notes.pipeline, "--export", "-"])
        #expect(export.status == 64 && export.errors.contains("outcome 12 belongs to a redrive"), "\(export)")

        let third = try await deadLetters(notes, "redrive", "--yes")
        #expect(third.status == 0 && third.errors == "nothing to redrive\n", "\(third.errors)")
        #expect(third.output.contains(#""redriven":2"#))
        let included = try await deadLetters(notes, "redrive", "--include", "superseded", "--user", "_bob", "--yes")
        #expect(included.status == 0 && included.errors == "2 letters redriven, 0 refused\n", "\(included.errors)")
        try await waitForOutcomes(15, of: notes)
        #expect(receiver.pushes.suffix(2) == ["bob-watch n1", "bob-watch n2"])
        up.signal(SIGTERM)
        #expect(await up.result().status == 0)
        let replay = try await Command.run(["replay", notes.pipeline])
        #expect(replay.status == 0 && replay.output.hasPrefix(#"{"result":"identical""#), "\(replay)")
    }

    @Test func `a redriven command that a stage refused goes through ingest again`() async throws {
        let receiver = Receiver()
        receiver.acceptPushes()
        let (notes, up) = try await start(receiver)
        let many = (0...1_000).map { Self.register("d\($0)", "t\($0)") }.joined()
        let sent = try await Program.run("belfry", ["send", notes.pipeline], input: many)
        #expect(sent.status == 0, "\(sent)")
        try await send(Self.subscribe("_alice") + Self.note("n1"), to: notes, outcomes: 1_000)
        let list = try await deadLetters(notes, "--code", "device.too_many")
        #expect(
            list.output.contains(#""device":"d1000","transport":"apns","topic":"com.example.Notes","redrivable":true}"#)
        )
        let free = try await Program.run("belfry", ["send", notes.pipeline], input: Self.unregister("d0"))
        #expect(free.status == 0)
        let redriven = try await deadLetters(notes, "redrive", "--device", "d1000", "--yes")
        #expect(redriven.status == 0 && redriven.errors == "1 letter redriven, 0 refused\n", "\(redriven.errors)")
        try await send(Self.note("n2"), to: notes, outcomes: 2_000)
        #expect(receiver.pushes.suffix(1_000).contains("d1000 n2"))
        let again = try await deadLetters(notes, "redrive")
        #expect(again.status == 0 && again.output.contains(#""obsolete":{"redriven":1}"#), "\(again.output)")
        up.signal(SIGTERM)
        #expect(await up.result().status == 0)
    }

    // MARK: Errors

    /// Logs with one dead letter: a command that match refused.
    ///
    /// - Parameter event: The text of the command.
    private func notes(refused event: String) async throws -> Notes {
        let notes = try Notes()
        let run = try await Program.run(
            "belfry", ["run", notes.pipeline, "--logs", notes.folder + "/data/logs"], input: Notes.phone())
        #expect(run.status == 0, "\(run)")
        let quoted = event.replacing("\"", with: "\\\"")
        let letter =
            #"{"type":"dead_letter","stage":"match","log":"changes","sequence":1,"code":"field.type","path":"","#
            + #""reason":"odd","event":"\#(quoted)"}"# + "\n"
        let writer = try EventLogWriter(
            EventLogOptions(
                directory: notes.folder + "/data/logs", name: "matches.dead-letters",
                identity: LogIdentity(seed: "test", name: "letters")))
        _ = try Array(letter.utf8).withUnsafeBytes {
            try writer.append($0, count: 1, cursor: Cursor(["changes": 1]), now: .wall())
        }
        try writer.close()
        return notes
    }

    @Test func `a door that does not answer, a missing --door, invalid options and a missing folder are errors`()
        async throws
    {
        let notes = try await notes(refused: Self.note("n1").dropLast() + "")
        let silent = try await Command.run(["dead-letters", "redrive", notes.pipeline, "--yes", "--timeout", "0.3"])
        #expect(silent.status == 69, "\(silent)")
        #expect(silent.errors.contains("0 letters redriven before that"), "\(silent.errors)")
        let folder = try await Command.run(["dead-letters", "redrive", notes.folder + "/data", "--yes"])
        #expect(folder.status == 64 && folder.errors.contains("or give --door"), "\(folder.errors)")
        for arguments in [
            ["--include", "device.retired"], ["--limit", "0"], ["--include", "all"], ["--timeout", "0"],
            ["--door", "tcp://127.0.0.1:1", "--key", "my.key"],
        ] {
            let wrong = try await Command.run(["dead-letters", "redrive", notes.pipeline] + arguments)
            #expect(wrong.status == 64 && wrong.output.isEmpty, "\(wrong)")
        }
        let none = try await Command.run(["dead-letters", notes.folder + "/nothing"])
        #expect(none.status == 66, "\(none)")
    }

    @Test func `a misspelt code, or an unknown code without a dot, is refused with a list of codes`() async throws {
        let notes = try await notes(refused: Self.note("n1").dropLast() + "")
        for (code, near) in [("bogus", ""), ("field.typo", #"did you mean "field.type"? "#), ("accepted", "")] {
            let wrong = try await Command.run(["dead-letters", notes.pipeline, "--code", code])
            #expect(wrong.status == 64 && wrong.output.isEmpty, "\(wrong)")
            #expect(
                wrong.errors.contains(
                    "--code \(code): no dead letter has this code; \(near)possible codes: expired, failed, field.type, "
                        + "unknown_transport, unregistered"), "\(wrong)")
        }
        for (code, count) in [("failed", 0), ("badge.range", 0), ("field.type", 1)] {
            let right = try await deadLetters(notes, "--code", code)
            #expect(right.status == 0 && right.output.contains(#""letters":\#(count),"#), "\(right)")
        }
    }

    @Test(arguments: [["dead-letters"], ["dead-letters", "redrive"], ["trace", "-p"]])
    func `a limit below zero is refused`(command: [String]) async throws {
        let notes = try await notes(refused: Self.note("n1").dropLast() + "")
        let more = command[0] == "trace" ? ["1"] : []
        let result = try await Command.run(command + [notes.pipeline, "--limit", "-1"] + more)
        #expect(result.status == 64 && result.errors.contains("--limit takes a number from "), "\(result)")
    }

    @Test func `a redriven dead letter that ingest refuses is reported`() async throws {
        let notes = try await notes(refused: #"{"type":"badge.set",\#(Self.place),"user":"_alice","badge":-1}"#)
        let ingest = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await ingest.waitForMessage("running")
        let result = try await Command.run(["dead-letters", "redrive", notes.pipeline, "--yes"])
        #expect(result.status == 65, "\(result)")
        #expect(
            result.errors.contains(
                "0 letters redriven, 1 refused\n  matches.dead-letters:1: badge: a badge must be a whole"),
            "\(result.errors)")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `on a terminal, the list begins with counts, and redrive shows what it would send`() async throws {
        let notes = try await notes(refused: Self.note("n1").dropLast() + "")
        let list = try await Program.run("belfry", ["dead-letters", notes.pipeline], onTerminal: true)
        let lines = list.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(list.status == 0 && lines[0] == "1 dead letter, of which 1 can be redriven", "\(list.output)")
        #expect(lines[3].hasPrefix("match: field.type        1           1  "), "\(list.output)")
        #expect(lines[5].contains("match: field.type  record.save   odd"), "\(list.output)")
        let counts = try await Program.run(
            "belfry", ["dead-letters", notes.pipeline, "--limit", "0"], onTerminal: true)
        #expect(counts.output.split(separator: "\n").count == 3, "\(counts.output)")
        let preview = try await Program.run("belfry", ["dead-letters", "redrive", notes.pipeline], onTerminal: true)
        #expect(preview.status == 1 && preview.errors.isEmpty, "\(preview)")
        #expect(
            preview.output.hasPrefix(
                "1 of 1 dead letter to redrive\n  1 × record.save, sent to ingest as a new command\n"),
            "\(preview.output)")
        #expect(preview.output.hasSuffix("nothing was sent; add --yes to send\n"), "\(preview.output)")
    }
}
