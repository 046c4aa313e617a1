import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import Time
import ZeroMQ

/// A stage under a hostile or broken upstream reads every event once, in order, and ignores meaningless messages. It
/// ends with an error if the upstream refuses it, serves another log, or has lost events.
@Suite struct LinkUnderHostileUpstreams {
    private func relay(_ folder: Folder, _ context: HostContext) throws -> RunningHost {
        try RunningHost("relay", of: .gateAndRelay(in: folder), context)
    }

    private func endpoint(_ folder: Folder) throws -> String {
        try PipelineFile.gateAndRelay(in: folder).sourceStage.bind
    }

    @Test func `meaningless frames are counted, and the stage continues`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let endpoint = try endpoint(folder)
        let relay = try relay(folder, context)
        let bad = BadFrames.unparsable + BadFrames.wrongTypes
        let more: [[[UInt8]]] = [
            [Array(text: #"{"type":"batch","first":1,"count":1,"now":1}"#)],
            [Array(text: #"{"type":"batch","first":1,"count":0,"now":1}"#), []],
            [Array(text: #"{"type":"batch","first":1,"count":-1,"now":1}"#), []],
            [Array(text: #"{"type":"batch","first":1,"count":1}"#), Array(text: "{\"n\":9}\n")],
            [Array(text: "{\"n\":9}\n"), Array(text: #"{"type":"batch","first":1,"count":1,"now":1}"#)],
            [Array(text: #"{"type":"welcome"}"#)],
            [[UInt8]](repeating: [], count: 300),
        ]
        try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 2)
            for frame in bad { try upstream.send(frame.frame) }
            for frames in more { try upstream.send(frames) }
            try upstream.sendBatch(first: 1, count: 2, "{\"n\":1}\n{\"n\":2}\n")
            try upstream.wait(untilWritten: 2, in: relay)
        }
        #expect(relay.host.control.report.refusedFrames == bad.count + more.count)
        try await relay.stop()
        #expect(try relay.events() == [#"{"n":1}"#, #"{"n":2}"#])
    }

    @Test(arguments: [
        (count: 3, lines: "{\"n\":1}\n{\"n\":2}\n"), (1, "{\"n\":1}\n{\"n\":2}\n"), (2, "{\"n\":1}\n{\"n\":2"), (1, ""),
        (Int.max, "{\"n\":1}\n"),
    ])
    func `a batch that differs from its announcement is requested again`(_ count: Int, _ lines: String) async throws {
        let folder = try Folder()
        let context = try HostContext()
        let endpoint = try endpoint(folder)
        let relay = try relay(folder, context)
        let again = try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 3)
            try upstream.sendBatch(first: 1, count: count, lines)
            let again = try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 3)
            try upstream.sendBatch(first: 1, count: 3, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n")
            try upstream.wait(untilWritten: 3, in: relay)
            return again
        }
        #expect(again.contains(#""after":0,"#))
        #expect(relay.host.control.report.refusedFrames == 1)
        try await relay.stop()
        #expect(try relay.events() == [#"{"n":1}"#, #"{"n":2}"#, #"{"n":3}"#])
    }

    @Test func `after a batch out of order the consumer opens the link again at its position`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let endpoint = try endpoint(folder)
        let relay = try relay(folder, context)
        let again = try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 3)
            try upstream.sendBatch(first: 1, count: 1, "{\"n\":1}\n")
            try upstream.sendBatch(first: 3, count: 1, "{\"n\":3}\n")
            let again = try upstream.waitForOpen()
            try upstream.welcome(after: 1, last: 3)
            try upstream.sendBatch(first: 2, count: 2, "{\"n\":2}\n{\"n\":3}\n")
            try upstream.wait(untilWritten: 3, in: relay)
            return again
        }
        #expect(again.contains(#""after":1,"#))
        try await relay.stop()
        #expect(try relay.events() == [#"{"n":1}"#, #"{"n":2}"#, #"{"n":3}"#])
    }

    @Test func `unreadable events become dead letters with their sequence and the code of the mistake`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let endpoint = try endpoint(folder)
        let relay = try relay(folder, context)
        let deep = String(repeating: "[", count: 10_000)
        try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 7)
            try upstream.sendBatch(
                first: 1, count: 7, "{\"n\":1}\nnot JSON\n\n[]\n\(deep)\n{\"n\":\"\0\"}\n{\"n\":2}\n")
            try upstream.wait(untilWritten: 2, in: relay)
        }
        try await relay.stop()
        #expect(try relay.events() == [#"{"n":1}"#, #"{"n":2}"#])
        let letters = try relay.deadLetters()
        let wanted = [
            (2, "json.unexpected_byte"), (3, "json.empty"), (4, "json.not_object"), (5, "json.too_deep"),
            (6, "json.control_character"),
        ]
        #expect(letters.count == wanted.count)
        for ((sequence, code), letter) in zip(wanted, letters) {
            let start =
                #"{"type":"dead_letter","stage":"relay","log":"gate","sequence":\#(sequence),"code":"\#(code)","#
            #expect(letter.hasPrefix(start), "\(letter.prefix(200))")
        }
    }

    @Test func `if the upstream refuses a stage, the host ends with an error that has the upstream's reason`()
        async throws
    {
        let folder = try Folder()
        let context = try HostContext()
        let endpoint = try endpoint(folder)
        let relay = try relay(folder, context)
        try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.waitForOpen()
            try upstream.send(LinkFrame.error("link.version", "this link speaks protocol 2"))
            try upstream.waitUntilStopped(relay)
        }
        let failure = await relay.failure()
        #expect("\(failure, default: "none")" == "\(endpoint): this link speaks protocol 2 (link.version)")
    }

    @Test(arguments: [true, false])
    func `a stage ends with an error that has both logs' identities if its upstream's log was replaced`(
        _ whileRunning: Bool
    ) async throws {
        let folder = try Folder()
        let context = try HostContext()
        let endpoint = try endpoint(folder)
        var relay = try relay(folder, context)
        if !whileRunning {
            try await SocketThread.run(name: "upstream") { [relay] in
                try Self.feedTwo(FakeUpstream(endpoint, context.zmq), relay)
            }
            try await relay.stop()
            relay = try self.relay(folder, context)
        }
        let other = LogIdentity(seed: "other", name: "gate")
        try await SocketThread.run(name: "upstream") { [relay] in
            let upstream = try FakeUpstream(endpoint, context.zmq)
            if whileRunning {
                try Self.feedTwo(upstream, relay)
                try upstream.send(LinkFrame.error("link.unknown_peer", "who are you?"))
            }
            try upstream.waitForOpen()
            try upstream.welcome(after: whileRunning ? 2 : 0, last: 9, identity: other)
            let next = LinkFrame.batch(first: whileRunning ? 3 : 1, count: 1, now: Instant(microseconds: 1))
            try upstream.sendIfConnected(next, Array(text: "{\"n\":666}\n"))
            try upstream.waitUntilStopped(relay)
        }
        let failure = await relay.failure()
        #expect(
            failure as? LinkError == .otherUpstream(endpoint: endpoint, expected: FakeUpstream.identity, found: other))
        #expect(try relay.events() == [#"{"n":1}"#, #"{"n":2}"#])
    }

    @Test func `an upstream that has lost its last events is reported with both positions`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let endpoint = try endpoint(folder)
        let first = try relay(folder, context)
        try await SocketThread.run(name: "upstream") { try Self.feedTwo(FakeUpstream(endpoint, context.zmq), first) }
        try await first.stop()
        let relay = try relay(folder, context)
        try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 1)
            try upstream.waitUntilStopped(relay)
        }
        let failure = await relay.failure()
        #expect(failure as? LinkError == .upstreamLost(endpoint: endpoint, log: "gate", taken: 2, last: 1))
    }

    private static func feedTwo(_ upstream: FakeUpstream, _ relay: RunningHost) throws {
        try upstream.waitForOpen()
        try upstream.welcome(after: 0, last: 2)
        try upstream.sendBatch(first: 1, count: 2, "{\"n\":1}\n{\"n\":2}\n")
        try upstream.wait(untilWritten: 2, in: relay)
    }
}
