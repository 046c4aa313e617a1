import EventLog
import Foundation
import PipelineKit
import TestSupport
import Testing
import Time
import ZeroMQ

@testable import PipelineRuntime

/// A producer's name belongs to the producer that first sent lines under this name.
@Suite struct DoorOwnerTests {
    private static let lines = Array(text: "{\"n\":1}\n{\"n\":2}\n")

    private static func produce(_ secret: String, first: UInt64 = 1) -> [UInt8] {
        LinkFrame.produce(producer: "shop", secret: secret, first: first)
    }

    private static func hello(_ secret: String) -> [UInt8] { LinkFrame.hello(producer: "shop", secret: secret) }

    /// Writes a log as an earlier version did: its cursor names producers without their owners.
    private static func writeEarlierLog(in folder: Folder) throws {
        let options = EventLogOptions(directory: folder.file("logs"), name: "gate", identity: nil, sync: .never)
        let writer = try EventLogWriter(options)
        _ = try Array(text: "{\"n\":1}\n").withUnsafeBytes {
            try writer.append($0, count: 1, cursor: Cursor(["shop": 1]), now: Instant.wall())
        }
        try writer.close()
    }

    /// Sends messages to the door of a gate that runs only during the call.
    private func atDoor(
        of file: PipelineFile, _ body: @escaping @Sendable (Peer) throws -> Void
    ) async throws -> RunningHost {
        let context = try HostContext()
        let gate = try RunningHost("gate", of: file, context)
        try await gate.waitUntilUp()
        let door = gate.host.control.report.door ?? ""
        try await SocketThread.run(name: "peer") { try body(Peer.connected(to: door, context.zmq)) }
        try await gate.stop()
        return gate
    }

    @Test func `a producer's lines under another producer's name are refused and not recorded, even after a restart`()
        async throws
    {
        let folder = try Folder()
        let file = try PipelineFile.gateAndRelay(in: folder)
        _ = try await atDoor(of: file) { peer in
            try peer.send(Self.produce("the first one's secret"), Self.lines)
            #expect(try peer.receive("answer").contains(#""through":2,"accepted":2"#))
        }
        let gate = try await atDoor(of: file) { peer in
            for frames in [[Self.hello("another's secret")], [Self.produce("another's secret", first: 3), Self.lines]] {
                try peer.send(frames)
                let error = try peer.receive("error")
                #expect(error.contains(#""code":"door.owner""#) && error.contains("'shop'"), "\(error)")
            }
            try peer.send(Self.hello("the first one's secret"))
            #expect(try peer.receive("welcome").contains(#""after":2"#))
        }
        #expect(try gate.events() == [#"{"n":1}"#, #"{"n":2}"#])
    }

    @Test func `a producer that only says hello does not become the owner of a name`() async throws {
        let folder = try Folder()
        _ = try await atDoor(of: .gateAndRelay(in: folder)) { peer in
            try peer.send(Self.hello("the one who only asks"))
            #expect(try peer.receive("welcome").contains(#""after":0"#))
            try peer.send(Self.produce("the one who sends"), Self.lines)
            #expect(try peer.receive("answer").contains(#""through":2"#))
        }
    }

    @Test func `a producer becomes the owner of a name even if all its lines are refused`() async throws {
        let folder = try Folder()
        _ = try await atDoor(of: .gateAndRelay(in: folder)) { peer in
            try peer.send(Self.produce("the first one's secret"), Array(text: "garbage\ngarbage\n"))
            #expect(try peer.receive("answer").contains(#""through":2,"accepted":0"#))
            try peer.send(Self.hello("another's secret"))
            #expect(try peer.receive("error").contains(#""code":"door.owner""#))
        }
    }

    @Test func `a name keeps its owner, however many other names send refused lines`() async throws {
        let folder = try Folder()
        let file = try PipelineFile.gateAndRelay(in: folder)
        _ = try await atDoor(of: file) { peer in
            try peer.send(Self.produce(Peer.secret), Self.lines)
            _ = try peer.receive("answer")
            for number in 1...2_200 {
                let frame = LinkFrame.produce(producer: "x\(number)", secret: "another's secret", first: 1)
                try peer.send(frame, Array(text: "x\n"))
                if number % 100 == 0 { for _ in 0..<100 { _ = try peer.receive("answer") } }
            }
            try peer.send(Self.hello("another's secret"))
            #expect(try peer.receive("error").contains(#""code":"door.owner""#))
            try peer.send(Self.produce(Peer.secret, first: 3), Self.lines)
            #expect(try peer.receive("answer").contains(#""through":4,"accepted":2"#))
        }
        _ = try await atDoor(of: file) { peer in
            try peer.send(Self.hello(Peer.secret))
            #expect(try peer.receive("welcome").contains(#""after":4"#))
        }
    }

    @Test func `a new lasting name beyond the limit is refused, but a name that begins with ~ is accepted`()
        async throws
    {
        let folder = try Folder()
        _ = try await atDoor(of: .gateAndRelay(in: folder)) { peer in
            func send(_ name: String) throws {
                try peer.send(
                    LinkFrame.produce(producer: name, secret: Peer.secret, first: 1), Array(text: "{\"n\":1}\n"))
            }
            for number in 1...ProducerPositions.lastingMax {
                try send("p\(number)")
                if number % 128 == 0 { for _ in 0..<128 { _ = try peer.receive("answer") } }
            }
            try send("new")
            let error = try peer.receive("error")
            #expect(error.contains(#""code":"door.producers""#) && error.contains("2048"), "\(error)")
            try send("~passing")
            #expect(try peer.receive("answer").contains(#""accepted":1"#))
        }
    }

    @Test func `the door's checksum does not depend on how lines were cut into frames, or on a restart`() async throws {
        let folder = try Folder()
        let file = try PipelineFile.gateAndRelay(in: folder)
        var sum = LineChecksum()
        (Self.lines + Array(text: "garbage\n{\"n\":3}\n")).withUnsafeBytes { sum.add($0) }
        let checksum = sum.value
        _ = try await atDoor(of: file) { peer in
            try peer.send(Self.produce(Peer.secret), Self.lines)
            _ = try peer.receive("answer")
            // The second line comes again, and the last line has no line feed.
            try peer.send(Self.produce(Peer.secret, first: 2), Array(text: "{\"n\":2}\ngarbage\n{\"n\":3}"))
            #expect(try peer.receive("answer").contains(#""through":4,"accepted":1"#))
        }
        _ = try await atDoor(of: file) { peer in
            try peer.send(Self.hello(Peer.secret))
            let welcome = try peer.receive("welcome")
            #expect(welcome.contains(#""after":4,"checksum":\#(checksum),"refused":1}"#), "\(welcome)")
        }
    }

    @Test func `a name from an earlier version keeps its position and belongs to the next producer that sends lines`()
        async throws
    {
        let folder = try Folder()
        let file = try PipelineFile.gateAndRelay(in: folder)
        try Self.writeEarlierLog(in: folder)
        let gate = try await atDoor(of: file) { peer in
            try peer.send(Self.hello("whoever comes first"))
            let welcome = try peer.receive("welcome")
            #expect(welcome.contains(#""after":1"#) && !welcome.contains("checksum"), "\(welcome)")
            #expect(!welcome.contains("refused"), "\(welcome)")
            try peer.send(Self.produce("whoever comes first"), Self.lines)
            #expect(try peer.receive("answer").contains(#""through":2,"accepted":1"#))
            try peer.send(Self.hello("whoever comes second"))
            #expect(try peer.receive("error").contains(#""code":"door.owner""#))
        }
        #expect(try gate.events() == [#"{"n":1}"#, #"{"n":2}"#])
    }

    @Test func `a producer secret is made once, and its file is refused if other users may read it`() async throws {
        let folder = try Folder()
        let path = folder.file("producer.secret")
        let secrets = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { try ProducerSecret.readOrMake(at: path) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(secrets.count == 1 && secrets.first?.utf8.count == 32)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["producer.secret"])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(throws: ProducerSecretError.self) { try ProducerSecret.readOrMake(at: path) }
    }

    @Test func `the error for a secret that is not text says to restore the file`() throws {
        let folder = try Folder()
        let path = folder.file("producer.secret")
        try Data([0xFF, 0xFE, 0xFD]).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let error = #expect(throws: ProducerSecretError.self) { try ProducerSecret.readOrMake(at: path) }
        #expect(error?.description.contains("restore the file") == true)
    }
}
