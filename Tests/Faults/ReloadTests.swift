import Glibc
import TestSupport
import Testing
import ZeroMQ

/// The five processes and the APNs of this machine, while the pipeline file is edited.
@Suite(.serialized) struct Reload {
    private static let reloaded = "deliver: reloaded "

    @Test func anAppIsAddedWhilePushesFlow() async throws {
        // Some take longer than a window: they are under way while the file is read.
        let slow = #"{"when":{"every":40},"do":{"latency":[3000,5000]}}"#
        let apns = try await RunningAPNs(script: #"{"script":[\#(slow),{"do":{"latency":[5,40]}}]}"#)
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport())
            try pipeline.send(Notes.commands(20) + [Notes.device("tablet", "01ff", topic: "com.example.Other")])
            try pipeline.send((21...40).map(Notes.note), from: "before")
            try pipeline.waitFor("app.stopped")
            try pipeline.send((41...1_000).map(Notes.note), from: "meanwhile")
            try pipeline.edit(transport: apns.transport(apps: apns.other))
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine(Self.reloaded)
            try pipeline.send((1_001...1_100).map(Notes.note), from: "after")
            try pipeline.waitFor("app.resumed")
            try pipeline.waitFor("outcome", 1_100 + 1_080)
            let said = pipeline.up.lines.filter { $0.hasPrefix(Self.reloaded) }
            #expect(said.count == 1 && said[0].hasSuffix("apns: 1 app added, \(apns.renewed)"), "\(said)")
            #expect(!pipeline.up.lines.contains { $0.contains("started again") })
            return try pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        #expect(problems == [])
        let accepted = apns.accepted
        #expect(accepted.count == 2_180 && Set(accepted.map(\.id)).count == 2_180)
        #expect(accepted.allSatisfy { !$0.isRepeat })
        let isOnFirst = accepted.contains { $0.topic == "com.example.Other" && $0.connection == 1 }
        #expect(!isOnFirst, "a new app takes a new connection")
    }

    @Test func aFileWithAMistakeIsRefusedAndAllGoesOn() async throws {
        let apns = try await RunningAPNs()
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport())
            try pipeline.send(Notes.commands(5))
            try pipeline.waitFor("outcome", 5)
            try pipeline.edit(transport: apns.transport(more: ", timeuot: 5s"))
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("all goes on with the settings of before")
            kill(try #require(pipeline.pids["deliver"]), SIGHUP)
            try pipeline.waitForLine("deliver: goes on with the settings of before")
            let mistakes = pipeline.up.lines.filter { $0.contains("did you mean \"timeout\"?") }
            #expect(mistakes.count == 2 && mistakes.allSatisfy { $0.hasPrefix("\(pipeline.file):") }, "\(mistakes)")
            try pipeline.edit(transport: apns.transport(key: apns.folder.file("lost.p8")))
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("deliver: goes on with the settings of before", 2)
            try pipeline.send((6...9).map(Notes.note))
            try pipeline.waitFor("outcome", 9)
            try pipeline.edit(transport: apns.transport())
            return try pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        #expect(problems == [] && apns.accepted.count == 9 && Set(apns.accepted.map(\.connection)).count == 1)
    }

    enum Mending: CaseIterable { case anotherFile, inPlace, inPlaceWhileStopped }

    @Test(arguments: Mending.allCases)
    func aStoppedAppGoesOnAtOnceWhenItsKeyIsMended(_ mending: Mending) async throws {
        let (apns, other) = (try await RunningAPNs(), try await RunningAPNs())
        try await other.stop()
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline.stopped(at: apns, key: other.key)
            if mending == .inPlaceWhileStopped { #expect(try pipeline.stop() == []) }
            if mending == .anotherFile {
                try pipeline.edit(transport: apns.transport())
            } else {
                try apns.lendKey(to: other)
            }
            if mending == .inPlaceWhileStopped { try pipeline.startAgain() } else { pipeline.up.signal(SIGHUP) }
            try pipeline.waitFor("app.resumed")
            try pipeline.waitFor("outcome", 20)
            let first = try pipeline.outcomes().first { !$0.hasPrefix(#"{"type":"a"#) || $0.contains("app.resumed") }
            #expect(first?.hasPrefix(#"{"type":"app.resumed""#) == true, "no push had to try")
            return try pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        #expect(problems == [])
        let accepted = apns.accepted
        #expect(accepted.count == 20 && Set(accepted.map(\.id)).count == 20 && accepted.allSatisfy { !$0.isRepeat })
    }

    @Test func transportsComeAndGo() async throws {
        try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline()
            try pipeline.send(Notes.commands(3))
            try pipeline.waitFor("outcome", 3)
            try pipeline.edit(transport: "{use: file, path: other.ndjson}\n      more: {use: file, path: more.ndjson}")
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("deliver: reloaded \(pipeline.file): apns opened anew; more opened")
            try pipeline.send((4...5).map(Notes.note))
            try pipeline.waitFor("outcome", 5)
            try pipeline.edit(transport: "{use: file, path: other.ndjson}")
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("deliver: reloaded \(pipeline.file): more closed")
            try pipeline.send([Notes.note(6)])
            try pipeline.waitFor("outcome", 6)
            #expect(try pipeline.stop() + pipeline.problemsOfLogs() == [])
            #expect(try pipeline.pushes().count == 3 && pipeline.folder.lines(of: "other.ndjson").count == 3)
        }
    }

    /// Stages keep to themselves what is none of theirs, and `up` says what takes a restart.
    @Test func stagesThatComeOrGoAreToldOf() async throws {
        try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline()
            let text = LivePipeline.yaml().replacing("payload: {from: coalesce}", with: "payload: {from: late}")
            try pipeline.folder.write(
                text.replacing("  payload:", with: "  late: {stage: coalesce, log: late, from: coalesce}\n  payload:"),
                to: "pipeline.yaml")
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("late: new in \(pipeline.file); it takes a restart of belfry up")
            #expect(try pipeline.stop() == [])
        }
    }

    /// The pipeline file is a pipe until then, so that `up` is known to be about to read it.
    @Test func aHangupBeforeTheFileIsReadDoesNoHarm() async throws {
        try await SocketThread.run(name: "faults") {
            let folder = try Folder()
            let file = folder.file("pipeline.yaml")
            #expect(mkfifo(file, 0o600) == 0)
            let up = try Spawned("belfry", ["up", file])
            var pipe: Int32 = -1
            try up.wait("belfry up opens its file") {
                pipe = open(file, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                return pipe >= 0
            }
            up.signal(SIGHUP)
            unlink(file)
            let text = LivePipeline.yaml()
            try folder.write(text, to: "pipeline.yaml")
            #expect(write(pipe, text, text.utf8.count) == text.utf8.count)
            close(pipe)
            try up.wait("it is ready") { up.lines.contains("ready") }
            up.signal(SIGTERM)
            #expect(try up.end() == 0, "\(up.lines)")
        }
    }
}

extension RunningAPNs {
    fileprivate var other: String {
        """
        , other: {container: iCloud.com.example.Notes, topic: com.example.Other, team: TEAMLOCAL1, key: KEYLOCAL12, \
        keyFile: {$file: \(key)}}
        """
    }

    fileprivate var renewed: String { "the connections of TEAMLOCAL1-KEYLOCAL12 at 127.0.0.1 are renewed" }
}
