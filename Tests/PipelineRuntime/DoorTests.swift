import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// A door under hostile producers: each bad frame gets its error, each bad line its refusal, and the good lines are
/// kept.
@Suite struct DoorTests {
    private struct Case {
        var name: String
        var frames: [[UInt8]]
        var code: String
        var says = ""
    }

    private static let line = Array(text: "{\"n\":1}\n")

    private static var cases: [Case] {
        BadFrames.unparsable.map { Case(name: $0.name, frames: [$0.frame], code: "door.frame") }
            + BadFrames.wrongTypes.map {
                Case(name: $0.name, frames: [$0.frame], code: "door.type", says: "hello, produce")
            }
            + hellos + produces
            + [
                Case(name: "swapped frames", frames: [line, produce("1")], code: "door.type"),
                Case(
                    name: "300 frames", frames: [[UInt8]](repeating: line, count: 300), code: "door.frames",
                    says: "300 frames"
                ),
            ]
    }

    private static var hellos: [Case] {
        func hello(_ name: String, _ members: String, _ code: String, _ says: String) -> Case {
            Case(name: name, frames: [Array(text: "{\"type\":\"hello\"\(members)}")], code: code, says: says)
        }
        let name = #","protocol":1,"producer":"p""#
        return [
            hello("no version", #","producer":"p""#, "link.version", "protocol 1"),
            hello("another version", #","protocol":2,"producer":"p""#, "link.version", "protocol 1"),
            hello("no name", #","protocol":1"#, "door.producer", "1 to 200 bytes"),
            hello("an empty name", #","protocol":1,"producer":"""#, "door.producer", "1 to 200 bytes"),
            hello("a number for a name", #","protocol":1,"producer":7"#, "door.producer", "1 to 200 bytes"),
            hello(
                "a long name", #","protocol":1,"producer":"\#(String(repeating: "p", count: 201))""#, "door.producer",
                "1 to 200 bytes"),
            hello("no secret", name, "door.secret", "16 to 200 bytes"),
            hello("a number for a secret", name + #","secret":1234567890123456"#, "door.secret", "16 to 200 bytes"),
            hello("a short secret", name + #","secret":"123456789012345""#, "door.secret", "16 to 200 bytes"),
        ]
    }

    private static var produces: [Case] {
        let firsts = ["0", "-1", "1.5", "1e300", "\"1\"", "null", "18446744073709551616"]
        return firsts.map { Case(name: "first \($0)", frames: [produce($0), line], code: "door.produce") }
            + [
                Case(
                    name: "no secret",
                    frames: [Array(text: #"{"type":"produce","producer":"p","first":1}"#), line], code: "door.secret"),
                Case(name: "no lines", frames: [produce("1")], code: "door.produce", says: "a frame of lines"),
                Case(name: "a frame too many", frames: [produce("1"), line, line], code: "door.produce"),
                Case(
                    name: "a gap", frames: [produce("9"), line], code: "door.gap",
                    says: "found line 9 of 'p', expected line 1"),
                Case(
                    name: "the widest gap", frames: [produce("9223372036854775807"), line], code: "door.gap"),
            ]
    }

    private static func produce(_ first: String) -> [UInt8] {
        Array(text: #"{"type":"produce","producer":"p","secret":"\#(Peer.secret)","first":\#(first)}"#)
    }

    @Test func `the door answers a bad frame with an error that names the broken rule, and stays open`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let gate = try RunningHost("gate", of: .gateAndRelay(in: folder), context)
        try await gate.waitUntilUp()
        let door = gate.host.control.report.door ?? ""
        let answers = try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: door, context.zmq)
            return try DoorTests.cases.map { bad in
                try peer.send(bad.frames)
                return String(decoding: try peer.receive()[0], as: UTF8.self)
            }
        }
        for (bad, answer) in zip(DoorTests.cases, answers) {
            #expect(answer.hasPrefix(#"{"type":"error","code":"\#(bad.code)","#), "\(bad.name): \(answer)")
            #expect(bad.says.isEmpty || answer.contains(bad.says), "\(bad.name): \(answer)")
        }
        try await sendOne(door, context)
        // The host updates its report only after it has sent the answers of a turn of its loop.
        try await gate.host.wait(for: "the count of refused frames") { $0.refusedFrames >= DoorTests.cases.count }
        #expect(gate.host.control.report.refusedFrames == DoorTests.cases.count)
        try await gate.stop()
        #expect(try gate.events() == [#"{"n":1}"#])
    }

    private func sendOne(_ door: String, _ context: HostContext) async throws {
        let answer = try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: door, context.zmq)
            try peer.send(DoorTests.produce("1"), DoorTests.line)
            return try peer.receive("answer")
        }
        #expect(answer.contains(#""through":1,"accepted":1"#))
    }

    @Test func `a bad line is refused with its number, and the good lines around it are kept`() async throws {
        let bad: [(line: [UInt8], code: String)] = [
            (Array(text: "not JSON"), "json.unexpected_byte"),
            ([], "json.empty"),
            (Array(text: "[1]"), "json.not_object"),
            (Array(text: "\"text\""), "json.not_object"),
            (Array(text: #"{"n":1"#), "json.unexpected_end"),
            (Array(text: #"{"n":1}}"#), "json.trailing_bytes"),
            (Array(text: "{\"n\":1,\"x\":\"\0\"}"), "json.control_character"),
            (Array(text: "{\"n\":1}\0"), "json.trailing_bytes"),
            ([0x7B, 0x22, 0xC3, 0x28, 0x22, 0x3A, 0x31, 0x7D], "json.invalid_utf8"),
            (Array(text: #"{"n":1,"n":2}"#), "json.duplicate_key"),
            (Array(text: #"{"n":1,"x":"\ud800"}"#), "json.lone_surrogate"),
            (BadFrames.nested, "json.too_deep"),
            (
                Array(text: #"{"n":1,"x":""#) + [UInt8](repeating: 0x78, count: 10 << 20) + Array(text: "\"}"),
                "json.too_long"
            ),
            (Array(text: #"{"m":1}"#), "n.missing"),
            (Array(text: #"{"n":"1"}"#), "n.missing"),
        ]
        let folder = try Folder()
        let context = try HostContext()
        let gate = try RunningHost("gate", of: .gateAndRelay(in: folder), context)
        try await gate.waitUntilUp()
        let door = gate.host.control.report.door ?? ""
        let answer = try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: door, context.zmq)
            var lines = Array(text: "{\"n\":0}\n")
            for (index, bad) in bad.enumerated() { lines += bad.line + Array(text: "\n{\"n\":\(index + 1)}\n") }
            try peer.send(DoorTests.produce("1"), lines)
            return try peer.receive("answer", within: .seconds(60))
        }
        for (index, bad) in bad.enumerated() {
            #expect(
                answer.contains(#"{"line":\#(index * 2 + 2),"code":"\#(bad.code)","#),
                "\(bad.code): \(answer.prefix(3000))")
        }
        #expect(answer.contains(#""through":\#(bad.count * 2 + 1),"accepted":\#(bad.count + 1),"#))
        try await gate.stop()
        #expect(try gate.events() == (0...bad.count).map { #"{"n":\#($0)}"# })
    }

    @Test func `the longest allowed line fits the log, and a longer line is refused`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let gate = try RunningHost("gate", of: .gateAndRelay(in: folder), context)
        try await gate.waitUntilUp()
        let door = gate.host.control.report.door ?? ""
        let answer = try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: door, context.zmq)
            let lines = [999_999, 1_000_000, 1_000_001, (2 << 20) - 1, 2 << 20, (2 << 20) + 1].flatMap(
                DoorTests.line)
            try peer.send(DoorTests.produce("1"), lines)
            return try peer.receive("answer", within: .seconds(60))
        }
        #expect(answer.contains(#""through":6,"accepted":2"#), "\(answer)")
        #expect(answer.contains("1000000"), "\(answer)")
        try await gate.stop()
        #expect(try gate.events().map(\.utf8.count) == [999_999, 1_000_000])
    }

    /// An event of `bytes` bytes, and a line feed.
    private static func line(bytes: Int) -> [UInt8] {
        let (start, end) = (Array(text: #"{"n":1,"x":""#), Array(text: "\"}"))
        return start + [UInt8](repeating: 0x78, count: bytes - start.count - end.count) + end + [0x0A]
    }

    @Test func `a frame that fills more than one batch is accepted whole, and its events are passed on`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let gate = try RunningHost("gate", of: .gateAndRelay(in: folder), context)
        let relay = try RunningHost("relay", of: .gateAndRelay(in: folder, relay: "{from: gate, copies: 10}"), context)
        try await gate.waitUntilUp()
        let door = gate.host.control.report.door ?? ""
        let answer = try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: door, context.zmq)
            // The gate appends a batch when its events have at least 8 MiB, so here after 17 lines.
            let lines = [[UInt8]](repeating: DoorTests.line(bytes: 500_000), count: 18).flatMap(\.self)
            try peer.send(DoorTests.produce("1"), lines)
            return try peer.receive("answer", within: .seconds(60))
        }
        #expect(answer.contains(#""through":18,"accepted":18"#), "\(answer)")
        // The copies of all events together are larger than the largest batch.
        try await relay.waitUntilWritten(180)
        try await relay.stop()
        try await gate.stop()
    }
}
