import EventLog
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import Time
import ZeroMQ

/// A link under hostile consumers: each bad frame gets its error, and honest consumers are not disturbed.
@Suite struct LinkUnderHostileConsumers {
    private struct Case {
        var name: String
        var frames: [[UInt8]]
        var code: String
        var says = ""

        init(_ name: String, _ frames: [UInt8]..., code: String, says: String = "") {
            (self.name, self.frames, self.code, self.says) = (name, frames, code, says)
        }
    }

    private static var cases: [Case] {
        BadFrames.unparsable.map { Case($0.name, $0.frame, code: "link.frame") }
            + BadFrames.wrongTypes.map { Case($0.name, $0.frame, code: "link.type", says: "open, credit, close") }
            + opens + credits
            + [Case("swapped frames", Array(text: "{\"n\":1}\n"), open(), code: "link.type")]
    }

    private static var opens: [Case] {
        [
            Case("no version", Array(text: #"{"type":"open","name":"c","after":0}"#), code: "link.version"),
            Case("version 2", open(version: "2"), code: "link.version", says: "protocol 1"),
            Case("version as text", open(version: "\"1\""), code: "link.version"),
            Case("a number for a name", open(name: "7"), code: "link.open"),
            Case("after -1", open(after: "-1"), code: "link.open"),
            Case("after as text", open(after: "\"0\""), code: "link.open"),
            Case(
                "after beyond the log", open(after: "4"), code: "link.after",
                says: "\\\"after\\\" is 4, but 'gate' ends at 3"),
            Case("after far beyond the log", open(after: "9223372036854775807"), code: "link.after"),
            Case(
                "credit too small", open(credit: "4194303"), code: "link.credit",
                says: "from 4194304 to 1099511627775 bytes"),
            Case("no credit", open(credit: "0"), code: "link.credit"),
            Case("credit -1", open(credit: "-1"), code: "link.credit"),
            Case("credit far too large", open(credit: "9223372036854775807"), code: "link.credit"),
            Case("credit as text", open(credit: "\"8388608\""), code: "link.credit"),
        ]
            + [
                #""lane":4,"lanes":4"#, #""lane":0"#, #""lanes":4"#, #""lane":-1,"lanes":4"#, #""lane":0,"lanes":257"#,
                #""lane":0,"lanes":0"#, #""lane":"0","lanes":"4""#,
            ].map { lane in
                Case(
                    lane, open(credit: "8388608,\(lane)"), code: "link.lane",
                    says: "open needs \\\"lanes\\\" from 1 to 256, and \\\"lane\\\" below that, or neither")
            }
    }

    private static var credits: [Case] {
        [
            Case("credit before open", Array(text: #"{"type":"credit","bytes":1}"#), code: "link.unknown_peer"),
            Case("credit before open, and wrong", Array(text: #"{"type":"credit"}"#), code: "link.unknown_peer"),
        ]
    }

    private static func open(
        version: String = "1", name: String = "\"c\"", after: String = "0", credit: String = "8388608"
    ) -> [UInt8] {
        Array(text: #"{"type":"open","protocol":\#(version),"name":\#(name),"after":\#(after),"credit":\#(credit)}"#)
    }

    /// A gate with three events in its log.
    private func gate(_ folder: Folder, _ context: HostContext) async throws -> RunningHost {
        let bind = "tcp://127.0.0.1:\(try PlainSocket.freePort())"
        let gate = try RunningHost("gate", of: .gateAndRelay(in: folder, gate: "{bind: '\(bind)'}"), context)
        try await gate.waitUntilUp()
        let door = gate.host.control.report.door ?? ""
        _ = try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: door, context.zmq)
            try peer.send(
                LinkFrame.produce(producer: "p", secret: Peer.secret, first: 1),
                Array(text: "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"))
            return try peer.receive("answer")
        }
        return gate
    }

    /// The frames of the first batch that an honest consumer gets.
    private func honestBatch(_ endpoint: String, _ context: HostContext) async throws -> [[UInt8]] {
        try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: endpoint, context.zmq)
            try peer.send(LinkFrame.open(name: "honest", after: 1, credit: LinkServer.creditMin))
            _ = try peer.receive("welcome")
            return try peer.receive()
        }
    }

    @Test func `a consumer of one lane gets empty lines in place of the lines of other lanes`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let gate = try await gate(folder, context)
        let endpoint = gate.host.control.report.endpoint
        let batches = try await SocketThread.run(name: "peer") {
            try (0..<2).map { lane in
                let peer = try Peer.connected(to: endpoint, context.zmq)
                let frame = LinkFrame.open(
                    name: "lane\(lane)", after: 1, credit: LinkServer.creditMin, lane: Lane(lane, of: 2))
                try peer.send(frame)
                _ = try peer.receive("welcome")
                return try peer.receive()
            }
        }
        // The gate's events name no user, so lane 0 takes them.
        #expect(batches.map { $0[1] } == [Array(text: "{\"n\":2}\n{\"n\":3}\n"), Array(text: "\n\n")])
        for batch in batches {
            #expect(String(decoding: batch[0], as: UTF8.self).hasPrefix(#"{"type":"batch","first":2,"count":2,"#))
        }
        try await gate.stop()
    }

    @Test func `a turn ends after two megabytes that were read, also if other lanes take all of it`() throws {
        let folder = try Folder()
        let log = try EventLogWriter(EventLogOptions(directory: folder.path, name: "gate", sync: .never))
        let lines = Array(
            repeatElement(#"{"n":"\#(String(repeating: "x", count: 990))"}"# + "\n", count: 500).joined().utf8)
        for number in 1...8 {
            _ = try lines.withUnsafeBytes {
                try log.append($0, count: 500, now: Instant(microseconds: Int64(number)))
            }
        }
        let context = try HostContext()
        let socket = try ZMQSocket(context.zmq, .router)
        try socket.bind("inproc://lanes")
        let server = LinkServer(socket: socket, log: log, directory: log.directory)
        let peer = try Peer.connected(to: "inproc://lanes", context.zmq)
        try peer.send(
            LinkFrame.open(name: "other", after: 0, credit: LinkServer.creditMin, lane: Lane(1, of: 2)))
        try server.receive()
        var turns = 1
        while try server.sendToConsumers() { turns += 1 }
        #expect(turns == 2 && server.consumerStates.map(\.next) == [4_001])
    }

    @Test func `the link server answers a bad frame with an error that names the broken rule`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let gate = try await gate(folder, context)
        let endpoint = gate.host.control.report.endpoint
        let answers = try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: endpoint, context.zmq)
            return try Self.cases.map { bad in
                try peer.send(bad.frames)
                return String(decoding: try peer.receive()[0], as: UTF8.self)
            }
        }
        for (bad, answer) in zip(Self.cases, answers) {
            #expect(answer.hasPrefix(#"{"type":"error","code":"\#(bad.code)","#), "\(bad.name): \(answer)")
            #expect(bad.says.isEmpty || answer.contains(bad.says), "\(bad.name): \(answer)")
        }
        // The host updates its report only after it has sent the answers of a turn of its loop.
        try await gate.host.wait(for: "the count of refused frames") { $0.refusedFrames >= Self.cases.count }
        #expect(gate.host.control.report.refusedFrames == Self.cases.count)
        let batch = try await honestBatch(endpoint, context)
        #expect(String(decoding: batch[0], as: UTF8.self).hasPrefix(#"{"type":"batch","first":2,"count":2,"#))
        #expect(batch[1] == Array(text: "{\"n\":2}\n{\"n\":3}\n"))
        try await gate.stop()
    }

    @Test func `a message of three hundred frames is refused, and the error has the number of frames`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let gate = try await gate(folder, context)
        let endpoint = gate.host.control.report.endpoint
        let answer = try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: endpoint, context.zmq)
            try peer.send([[UInt8]](repeating: Self.open(), count: 300))
            return try peer.receive("error")
        }
        #expect(answer.contains(#""code":"link.frames","reason":"found a message of 300 frames"#), "\(answer)")
        _ = try await honestBatch(endpoint, context)
        try await gate.stop()
    }

    @Test func `grants of credit add up to no more than the maximum`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let gate = try await gate(folder, context)
        let endpoint = gate.host.control.report.endpoint
        let health = try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: endpoint, context.zmq)
            try peer.send(Self.open(after: "3", credit: "1099511627775"))
            for _ in 0..<10 { try peer.send(LinkFrame.credit(1_099_511_627_775)) }
            try peer.send(LinkFrame.health())
            return try peer.receive("health")
        }
        #expect(health.contains(#""name":"c","next":4,"credit":1099511627776"#), "\(health)")
        try await gate.stop()
    }

    @Test(arguments: [ZMQSocketType.req, .push, .pull, .pair])
    func `a socket of a wrong type disturbs no consumer`(_ type: ZMQSocketType) async throws {
        let folder = try Folder()
        let context = try HostContext()
        let gate = try await gate(folder, context)
        let endpoint = gate.host.control.report.endpoint
        try await SocketThread.run(name: "peer") {
            let peer = try Peer.connected(to: endpoint, context.zmq, type)
            if type != .pull { _ = try peer.socket.send([Self.open()], wait: false) }
        }
        _ = try await honestBatch(endpoint, context)
        try await gate.stop()
    }

    @Test func `bytes that are not ZeroMQ disturb no consumer`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let gate = try await gate(folder, context)
        let endpoint = gate.host.control.report.endpoint
        let texts = [
            Array(text: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), [UInt8](repeating: 0, count: 4096),
            [UInt8](repeating: 0xFF, count: 65_536), [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3], [],
        ]
        try await SocketThread.run(name: "garbage") {
            for text in texts { try PlainSocket.send(text, to: endpoint) }
        }
        _ = try await honestBatch(endpoint, context)
        try await gate.stop()
    }
}
