import CZeroMQ
import Glibc
import Testing

@testable import ZeroMQ

@Suite struct MessageTests {
    @Test(arguments: Wire.allCases) func `all frames of a message arrive in order, empty and large ones too`(
        wire: Wire
    ) throws {
        let pair = try Pair(wire)
        let large = [UInt8](repeating: 0xA5, count: 5_000_000)
        let frames = [ascii("head"), [], large, [], [7]]
        #expect(try pair.connected.send(frames) == .sent)
        // Compared outside of the macro, which would print five million numbers.
        let isSame = try pair.bound.next() == frames
        #expect(isSame)
        #expect(try pair.bound.send([[]]) == .sent)
        #expect(try pair.connected.next() == [[]])
    }

    @Test(arguments: Wire.allCases) func `a ROUTER and DEALERs exchange messages by routing ID`(wire: Wire) throws {
        let pair = try Pair(wire, .router, .dealer, connected: ZMQSocketOptions().with { $0.routingID = ascii("a") })
        let other = try ZMQSocket(pair.context, .dealer, ZMQSocketOptions().with { $0.routingID = ascii("b") })
        try other.connect(pair.bound.lastEndpoint)
        _ = try pair.connected.send([ascii("from a")])
        #expect(try pair.bound.next() == [ascii("a"), ascii("from a")])
        _ = try other.send([ascii("from b")])
        #expect(try pair.bound.next() == [ascii("b"), ascii("from b")])
        #expect(try pair.bound.send([ascii("b"), ascii("to b")]) == .sent)
        #expect(try pair.bound.send([ascii("a"), ascii("to a")]) == .sent)
        #expect(try other.next() == [ascii("to b")])
        #expect(try pair.connected.next() == [ascii("to a")])
    }

    @Test func `one message object serves for many sends and receives`() throws {
        let pair = try Pair()
        let message = ZMQMultipart()
        for round in 1...40 {
            for index in 0..<round { try message.append([UInt8](repeating: UInt8(index), count: index * 3)) }
            #expect(try pair.bound.send(message) == .sent)
            #expect(message.count == 0)
            #expect(try pair.connected.receive(into: message) == .received)
            #expect(message.copies == (0..<round).map { [UInt8](repeating: UInt8($0), count: $0 * 3) })
            message.removeAll()
        }
    }

    @Test func `raw bytes are sent as they are and frames can be written in place`() throws {
        let pair = try Pair()
        let numbers = [1, 2, 3]
        let raw = numbers.withUnsafeBytes { Array($0) }
        let result = try numbers.withUnsafeBytes { bytes in
            try pair.bound.send([UnsafeRawBufferPointer(rebasing: bytes[0..<1]), bytes])
        }
        #expect(result == .sent)
        #expect(try pair.connected.next() == [[raw[0]], raw])
        let message = ZMQMultipart()
        try message.append(count: 100) { $0.initializeMemory(as: UInt8.self, repeating: 9) }
        #expect(message.byteCount == 100)
        #expect(try pair.bound.send(message) == .sent)
        #expect(try pair.connected.next() == [[UInt8](repeating: 9, count: 100)])
    }

    @Test func `a receive without waiting returns at once if there is no message`() throws {
        let pair = try Pair()
        #expect(try pair.bound.receive(into: ZMQMultipart(), wait: false) == .empty)
    }

    @Test func `a full queue leaves the message ready for another try`() throws {
        let small = ZMQSocketOptions().with {
            $0.sendHighWaterMessages = 1
            $0.receiveHighWaterMessages = 1
        }
        let pair = try Pair(.inproc, .pull, .push, bound: small, connected: small)
        let message = ZMQMultipart()
        var sent = 0
        repeat {
            message.removeAll()
            try message.append([UInt8(sent)])
            try message.append([])
            sent += 1
        } while try pair.connected.send(message, wait: false) == .sent && sent < 100
        #expect(sent < 100)
        #expect(message.copies == [[UInt8(sent - 1)], []])
        for number in 0..<(sent - 1) { #expect(try pair.bound.next() == [[UInt8(number)], []]) }
        let poller = ZMQPoller()
        poller.add(pair.connected, .writable)
        #expect(try poller.poll(timeoutMilliseconds: testTimeoutMilliseconds) == 1)
        #expect(try pair.connected.send(message, wait: false) == .sent)
        #expect(try pair.bound.next() == [[UInt8(sent - 1)], []])
    }

    @Test func `a socket that was neither bound nor connected has no room for a message`() throws {
        let socket = try ZMQSocket(ZMQContext(), .dealer)
        #expect(try socket.send([[1]], wait: false) == .full)
    }

    @Test func `a send from a ROUTER to an unknown peer returns unreachable`() throws {
        let pair = try Pair(.tcp, .router, .dealer)
        #expect(try pair.bound.send([ascii("nobody"), [1]]) == .unreachable)
        _ = try pair.connected.send([[1]])
        #expect(try pair.bound.next().count == 2)
    }

    @Test func `a message of too many frames is cut to its first frames, and the next message is read`() throws {
        let pair = try Pair(.tcp, .router, .dealer, connected: ZMQSocketOptions().with { $0.routingID = ascii("a") })
        _ = try pair.connected.send([[UInt8]](repeating: [1], count: 10_000))
        _ = try pair.connected.send([[2]])
        let message = ZMQMultipart(framesMax: 3)
        #expect(try pair.bound.receive(into: message) == .tooManyFrames(10_001))
        #expect(message.copies == [ascii("a"), [1], [1]])
        #expect(try pair.bound.receive(into: message) == .received)
        #expect(message.copies == [ascii("a"), [2]])
    }

    @Test func `as many frames as allowed are accepted`() throws {
        let pair = try Pair()
        _ = try pair.bound.send([[1], [2], [3]])
        let message = ZMQMultipart(framesMax: 3)
        #expect(try pair.connected.receive(into: message) == .received)
        #expect(message.copies == [[1], [2], [3]])
    }

    @Test func `a peer that sends too large a frame is disconnected`() throws {
        let pair = try Pair(.tcp, .pull, .push, bound: ZMQSocketOptions().with { $0.frameBytesMax = 1000 })
        let monitor = try ZMQMonitor(pair.bound, .disconnected)
        _ = try pair.connected.send([[UInt8](repeating: 1, count: 1000)])
        #expect(try pair.bound.next().first?.count == 1000)
        _ = try pair.connected.send([[UInt8](repeating: 1, count: 1001)])
        _ = try monitor.wait(for: .disconnected)
        #expect(try pair.bound.receive(into: ZMQMultipart(), wait: false) == .empty)
    }

    @Test func `a message without frames is an error`() throws {
        let pair = try Pair()
        #expect(throws: ZMQError(code: EINVAL, operation: "send", detail: "no frames")) {
            try pair.bound.send([[UInt8]]())
        }
    }

    @Test func `frames have the alignment libzmq asks for`() {
        #expect(MemoryLayout<zmq_msg_t>.alignment == MemoryLayout<UnsafeRawPointer>.alignment)
    }
}
