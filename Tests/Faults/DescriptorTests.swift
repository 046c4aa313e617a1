import Glibc
import JSON
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// A process that has run out of file descriptors serves those it has, does not spin, says so, and goes on by itself.
@Suite(.serialized) struct Descriptors {
    @Test(.timeLimit(.minutes(2)), arguments: ["", "tcp"])
    func aDoorWithoutDescriptorsServesThoseInsideAndLetsTheOthersWait(_ kind: String) async throws {
        let folder = try Folder()
        let door =
            kind.isEmpty ? "ipc://\(folder.path)/door" : "tcp://127.0.0.1:\(20_000 + Int.random(in: 0..<10_000))"
        let file = try folder.write(
            "pipeline: crowded\ndata: data\nstages: {ingest: {door: '\(door)'}}\n", to: "pipeline.yaml")
        let (load, health, said) = try await SocketThread.run(name: "faults") {
            let limited = ["/bin/sh", "-c", "ulimit -n 64; exec \"$0\" \"$@\""]
            let ingest = try Spawned(limited + [Programs.path("belfry-ingest"), "--pipeline", file])
            try ingest.wait("ingest runs") { ingest.lines.contains { $0.hasPrefix("ingest: running") } }
            let inside = try Sender("inside", to: door)
            let line = try HealthLine("ipc://\(folder.path)/data/ingest.link")
            _ = try line.ask()
            let crowd = try Crowd(200, at: door)
            try ingest.wait("word of it") { ingest.lines.contains { $0.hasPrefix("ingest: out of file descriptors") } }
            let before = try Processes.time(of: ingest.pid)
            for _ in 0..<10 { ingest.read(wait: .milliseconds(100)) }
            let load = try Processes.time(of: ingest.pid) - before
            try inside.send()
            let health = try line.ask()
            crowd.leave()
            try ingest.wait("room again") {
                ingest.lines.contains { $0.hasPrefix("ingest: there are file descriptors again") }
            }
            try Sender("late", to: door).send()
            ingest.signal(SIGTERM)
            guard try ingest.end() == 0 else { throw FaultError("\(ingest.lines)") }
            return (load, health, ingest.lines)
        }
        #expect(load < .milliseconds(300), "in a second")
        #expect(health.contains(#""phase":"running""#) && health.contains(#""outOfDescriptors":true"#), "\(health)")
        #expect(said.count { $0.contains("out of file descriptors") } == 1, "\(said)")
    }
}

/// A producer that sends a line at a time. Belongs to one thread.
private final class Sender {
    private let producer: Producer

    init(_ name: String, to endpoint: String) throws {
        producer = try Producer(ProducerSocket.make(nil, HostContext()), endpoint: endpoint, name: name)
        _ = try producer.greet(timeout: .seconds(20))
    }

    /// Returns when the line is taken.
    func send() throws {
        let device = #"{"type":"device.unregister","container":"c","environment":"production","user":"u","device":"d"}"#
        try producer.send(Array((device + "\n").utf8), count: 1)
        let end = ContinuousClock.now + .seconds(20)
        while !producer.isDone {
            guard .now < end else { throw FaultError("no answer from the door") }
            try producer.pump(wait: .milliseconds(100))
        }
    }
}

/// A connection over which a stage is asked how it fares. Belongs to one thread.
private final class HealthLine {
    private let socket: ZMQSocket
    private let poller = ZMQPoller()
    private let message = ZMQMultipart()

    init(_ endpoint: String) throws {
        socket = try ZMQSocket(ZMQContext(), .dealer, ZMQSocketOptions())
        try socket.connect(endpoint)
        poller.add(socket)
    }

    func ask() throws -> String {
        _ = try socket.send([LinkFrame.health()], wait: true)
        _ = try poller.poll(timeoutMilliseconds: 10_000)
        guard try socket.receive(into: message, wait: false) == .received else { throw FaultError("no health") }
        return String(decoding: message[0], as: UTF8.self)
    }
}

/// Connections that say nothing.
private final class Crowd {
    private var files: [Int32] = []

    init(_ count: Int, at endpoint: String) throws {
        for _ in 0..<count {
            let isLocal = endpoint.hasPrefix("ipc://")
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            let file = socket(isLocal ? AF_UNIX : AF_INET, type, 0)
            guard file >= 0 else { throw FaultError("no socket: errno \(errno)") }
            files.append(file)
            _ =
                isLocal
                ? Crowd.connect(file, path: endpoint.dropFirst("ipc://".count))
                : Crowd.connect(file, port: UInt16(endpoint.split(separator: ":").last ?? "") ?? 0)
        }
    }

    func leave() {
        for file in files { close(file) }
        files = []
    }

    deinit { leave() }

    private static func connect(_ file: Int32, path: Substring) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return connect(file, &address, MemoryLayout<sockaddr_un>.size)
    }

    private static func connect(_ file: Int32, port: UInt16) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        return connect(file, &address, MemoryLayout<sockaddr_in>.size)
    }

    private static func connect(_ file: Int32, _ address: UnsafeRawPointer, _ size: Int) -> Int32 {
        Glibc.connect(file, address.assumingMemoryBound(to: sockaddr.self), socklen_t(size))
    }
}
