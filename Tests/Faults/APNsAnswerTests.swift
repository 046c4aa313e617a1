import Foundation
import Glibc
import LocalAPNs
import PipelineRuntime
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// Runs the five stages as processes, with a local APNs whose answers retire devices, stop apps and delay pushes.
@Suite(.serialized) struct APNsAnswers {
    /// The backend refuses the notice until `deliver` was killed, and then accepts it.
    @Test func `a backend gets the notice of a retired device even if deliver is killed`() async throws {
        let gone = #"{"status":410,"reason":"Unregistered","timestamp":4102444800000}"#
        let apns = try await RunningAPNs(script: #"{"script":[{"do":\#(gone)}]}"#)
        let isAvailable = Mutex(false)
        let server = TestServer { _, _ in .status(isAvailable.withLock { $0 } ? 204 : 503) }
        defer { server.stop() }
        let secret = try apns.folder.write(
            "whsec_\(Data(repeating: 7, count: 32).base64EncodedString())\n", to: "secret")
        chmod(secret, 0o600)
        let retired = """
            {url: "\(server.url)", privateNetworks: allow, secret: {$file: \(secret)}, attempts: 1}
            """
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport() + "\n    retired: " + retired)
            try pipeline.send(Notes.commands(1))
            try pipeline.waitFor("notice.attempt")
            try pipeline.kill("deliver")
            isAvailable.withLock { $0 = true }
            try pipeline.waitFor("notice.outcome")
            return try pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        #expect(problems == [])
        let requests = server.requests
        #expect(requests.count >= 2 && Set(requests.compactMap { $0.headers["webhook-id"] }).count == 1)
        #expect(
            Set(requests.map(\.body)).count == 1 && requests[0].headers["webhook-signature"]?.hasPrefix("v1,") == true)
        for part in [
            #""type":"device.retired""#, #""user":"_alice","device":"phone""#, #""token":"00ff""#, #""status":410"#,
        ] { #expect(requests[0].body.contains(part), "\(requests[0].body)") }
    }

    /// After a kill, the host gives deliver its recorded input again, including the wakes at which deliver handed out
    /// the notice. Deliver must also send the pushes that came after these wakes.
    @Test func `pushes behind a waiting notice are sent despite two kills`() async throws {
        let gone = #"{"status":410,"reason":"Unregistered","timestamp":4102444800000}"#
        let apns = try await RunningAPNs(
            script: #"{"script":[{"when":{"token":"00ff"},"do":\#(gone)},{"do":{"latency":20}}]}"#)
        let server = TestServer { _, _ in .status(503) }
        defer { server.stop() }
        let retired = #"\#n    retired: {url: "\#(server.url)", privateNetworks: allow, attempts: 1}"#
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport(more: ", inFlightMax: 1") + retired)
            try pipeline.send(Notes.commands(1))
            try pipeline.waitFor("notice.attempt", count: 3)
            try pipeline.kill("deliver")
            try pipeline.send([Notes.device("tablet", "01ff")] + (2...41).map(Notes.note))
            try pipeline.waitFor("outcome", count: 3)
            try pipeline.kill("deliver")
            try pipeline.waitFor("outcome", count: 41)
            return try pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        #expect(problems == [])
        #expect(Set(apns.accepted.map(\.id)).count == 40)
    }

    /// A wake hands out all waiting pushes, but only two are in flight at a time, so their answers are in many batches.
    /// After a kill, deliver must read all of these batches.
    @Test(.full) func `waiting pushes survive kills while the answers after a wake fill many batches`() async throws {
        let apns = try await RunningAPNs(script: #"{"script":[{"when":{"first":60},"do":{"status":503}}]}"#)
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport(more: ", inFlightMax: 2, retryAfter5xx: 1s"))
            try pipeline.send(Notes.commands(20))
            // At each kill, at most two answers are not in the log yet.
            for count in [40, 46, 52] {
                try pipeline.waitFor("attempt", count: count)
                try pipeline.kill("deliver")
            }
            try pipeline.waitFor("outcome", count: 20)
            return try pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        #expect(problems == [])
        #expect(Set(apns.accepted.map(\.id)).count == 20)
    }

    /// Deliver is killed repeatedly during a push to more devices than the server has streams. After a kill,
    /// deliver sends the push again only to the devices for which it was in flight: at most one for each stream.
    @Test func `a crash repeats a push to at most as many devices as the server has streams`() async throws {
        let apns = try await RunningAPNs(script: #"{"script":[{"do":{"latency":60}}]}"#, streams: 4)
        let devices = 60
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport())
            try pipeline.send(
                (1..<devices).map { Notes.device("d\($0)", String(format: "%04x", $0)) } + Notes.commands(1))
            for count in [14, 30, 46] {
                try pipeline.up.wait("\(count) requests") { apns.accepted.count >= count }
                try pipeline.kill("deliver")
            }
            try pipeline.waitFor("outcome", count: devices)
            return try pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        #expect(problems == [])
        let connections = Dictionary(grouping: apns.accepted, by: \.connection).sorted { $0.key < $1.key }.map(\.value)
        var seen: Set<String> = []
        for connection in connections {
            let tokens = connection.compactMap(\.token)
            #expect(tokens.count(where: seen.contains) <= 4, "\(connections.map { $0.compactMap(\.token) })")
            seen.formUnion(tokens)
        }
        #expect(seen.count == devices && connections.count == 4)
    }

    /// The key is wrong at first. After a restart with the right key, each waiting push is sent once.
    @Test(arguments: [true, false])
    func `a stopped app resumes when its key is corrected`(isPipelineStoppedCleanly: Bool) async throws {
        let (apns, other) = (try await RunningAPNs(), try await RunningAPNs())
        try await other.stop()
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline.start(withWrongKey: other.key, at: apns)
            let problems = try pipeline.stop(isPipelineStoppedCleanly ? SIGTERM : SIGKILL)
            try pipeline.startAgain(transport: apns.transport())
            try pipeline.send((21...25).map(Notes.note))
            try pipeline.waitFor("app.resumed")
            try pipeline.waitFor("outcome", count: 25)
            return try problems + pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        #expect(problems == [])
        let accepted = apns.accepted
        #expect(accepted.count == 25 && Set(accepted.map(\.id)).count == 25 && accepted.allSatisfy { !$0.isRepeat })
    }

    /// APNs answers every push with `BadDeviceToken` if the transport's host belongs to the other environment. No other
    /// answer and no probe shows this mistake.
    @Test func `an app whose devices are all unknown is reported once with the remedy`() async throws {
        let unknown = #"{"status":400,"reason":"BadDeviceToken"}"#
        let apns = try await RunningAPNs(script: #"{"script":[{"do":\#(unknown)}]}"#)
        let (said, found, problems) = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport())
            try pipeline.send((1...20).map { Notes.device("d\($0)", "\($0 + 10)ff") } + Notes.commands(1))
            try pipeline.waitFor("app.stopped")
            try pipeline.waitForLine(
                "deliver: apns: iCloud.com.example.Notes development com.example.Notes: Belfry stops")
            try pipeline.kill("deliver")
            try pipeline.waitForRestarts()
            try pipeline.send([Notes.note(2)], from: "later")
            try pipeline.waitFor("attempt", count: 21)
            let doctor = try SpawnedProgram(
                "belfry", ["doctor", pipeline.file], output: pipeline.folder.file("found"))
            _ = try doctor.waitUntilExit()
            let problems = try pipeline.stop()
            let said = pipeline.up.lines.filter { $0.contains("Belfry stops sending") }
            return (said, try pipeline.folder.lines(of: "found"), problems)
        }
        try await apns.stop()
        #expect(problems == [])
        #expect(said.count == 1 && said[0].contains("Compare the transport's host and the app's environment"))
        #expect(found.contains { $0.contains("Compare the transport's host and the app's environment") })
    }

    /// APNs allows only one new provider token in several minutes, so the stage must use
    /// the token that the doctor made.
    @Test func `the doctor and the stage use one provider token`() async throws {
        let apns = try await RunningAPNs()
        let (doctor, problems) = try await SocketThread.run(name: "faults") {
            let folder = try Folder()
            let file = try folder.write(LivePipeline.yaml(transport: apns.transport()), to: "pipeline.yaml")
            let doctor = try SpawnedProgram("belfry", ["doctor", "apns", file], output: folder.file("said"))
                .waitUntilExit()
            let token = try folder.lines(of: "data/logs/outcomes/TEAMLOCAL1-KEYLOCAL12.token")
            let pipeline = try LivePipeline(folder: folder, transport: apns.transport())
            try pipeline.send(Notes.commands(1))
            try pipeline.waitFor("outcome")
            #expect(try folder.lines(of: "data/logs/outcomes/TEAMLOCAL1-KEYLOCAL12.token") == token)
            return (doctor, try pipeline.stop() + pipeline.problemsOfLogs())
        }
        try await apns.stop()
        #expect(doctor == 0 && problems == [] && apns.accepted.count == 1)
    }
}
