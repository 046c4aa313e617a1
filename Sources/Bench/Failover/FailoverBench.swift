import Foundation
import Glibc
import JetStreamHome
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// Kills the host that runs a pipeline's stages again and again, and measures the time until the other host's first
/// push. The hosts are two addresses of this machine.
final class FailoverBench {
    private static let hosts = [(name: "a", address: "127.0.0.1"), (name: "b", address: "127.0.0.2")]
    /// Changes that are sent every ``pause``.
    private static let block = 5
    private static let pause = Duration.milliseconds(10)
    private static let limit = Duration.seconds(60)

    private let folder: String
    private let file: String
    private let interruption: Interruption
    private var processes: [String: Process] = [:]
    private var sent = 0

    /// - Parameters:
    ///   - servers: The NATS servers.
    ///   - takeOver: The setting of that name, such as `3s`.
    init(folder: String, servers: [String], replicas: Int, takeOver: String, _ interruption: Interruption) throws {
        (self.folder, self.interruption) = (folder, interruption)
        file = folder + "/pipeline.yaml"
        let ports = try (0..<6).map { _ in try FailoverBench.freePort() }
        func address(_ index: Int) -> String { #""tcp://127.0.0.1:\#(ports[index])""# }
        let text = """
            pipeline: belfry-bench-\(getpid())
            log:
              home: jetstream
              servers: [\(servers.map { "\"\($0)\"" }.joined(separator: ", "))]
              replicas: \(replicas)
              takeOver: \(takeOver)
            hosts:
              a: {address: 127.0.0.1, data: a}
              b: {address: 127.0.0.2, data: b}
            stages:
              ingest: {bind: \(address(0)), door: \(address(5))}
              match: {from: ingest, bind: \(address(1))}
              coalesce: {from: match, policy: none, bind: \(address(2))}
              payload: {from: coalesce, bind: \(address(3))}
              deliver:
                from: payload
                bind: \(address(4))
                transports: {file: {use: file, path: pushes.ndjson}}
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    }

    /// - Returns: For each kill, the seconds from the kill to the first push of the other host.
    func measure(kills: Int) throws -> [Double] {
        defer { for host in processes.keys { kill(host) } }
        for host in Self.hosts { try start(host.name) }
        let plan = try plan()
        let context = try HostContext()
        let producer = try Producer(
            ToolSocket.make(plan, context), endpoint: plan.door ?? "", name: "belfry bench",
            secret: ProducerSecret.random())
        defer { producer.socket.close() }
        if let watch = try plan.ownerWatch() { producer.currentEndpoint = { plan.door(on: watch.owner()) } }
        let setUp = [Workload.device(ofUser: 0), Self.subscription]
        try producer.send(Array((setUp.joined(separator: "\n") + "\n").utf8), count: setUp.count)
        return try (0..<kills).map { number in
            let owner = Self.hosts[number % 2].name
            try send(to: producer) { try pushes() > 100 * (number + 1) }
            let start = ContinuousClock.now
            kill(owner)
            let before = try pushes()
            try send(to: producer) { try pushes() > before }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            try self.start(owner)
            return seconds
        }
    }

    /// Sends changes at a steady rate until the condition is met.
    private func send(to producer: Producer, until isMet: () throws -> Bool) throws {
        let end = ContinuousClock.now + Self.limit
        while try !isMet() {
            try interruption.check()
            guard .now < end else { throw ToolFailure(.unavailable, "no push for \(Self.limit); see \(folder)") }
            if producer.hasRoom {
                let lines = (sent..<sent + Self.block).map(Self.change).joined()
                sent += Self.block
                try producer.send(Array(lines.utf8), count: Self.block)
            }
            try producer.pump(wait: Self.pause)
        }
    }

    private static var subscription: String {
        #"{"type":"subscription.save",\#(WorkloadNames.place),"database":"private","user":"_u000000","subscription":{"#
            + #""subscriptionID":"zone","subscriptionType":"zone","zoneID":{"zoneName":"Notes"},"#
            + #""notificationInfo":{"alertBody":"A note"}}}"#
    }

    private static func change(_ number: Int) -> String {
        #"{"type":"record.save",\#(WorkloadNames.place),"database":"private","owner":"_u000000","record":{"#
            + #""recordName":"n\#(number)","recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"_u000000"},"#
            + #""fields":{}}}"# + "\n"
    }

    /// How many pushes the hosts have written.
    private func pushes() throws -> Int {
        let path = folder + "/pushes.ndjson"
        guard access(path, F_OK) == 0 else { return 0 }
        return try Data(contentsOf: URL(fileURLWithPath: path)).count { $0 == UInt8(ascii: "\n") }
    }

    // MARK: Hosts

    private func plan() throws -> HostPlan {
        let onHost = try CheckedPipeline(
            PipelineText(path: file), host: Self.hosts[0].name, checkingOnlyStagesOf: .builtIns)
        var surroundings = HostSurroundings(registry: .builtIns, context: try HostContext())
        surroundings.openHome = { settings, pipeline, host, _ in
            try JetStreamHome(settings, pipeline: pipeline, host: host) { _ in }
        }
        return try StageHost(onHost.file.sourceStage, of: onHost.file, in: surroundings).plan
    }

    /// Starts a host, and returns when each of its stages runs or stands by.
    private func start(_ host: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try SiblingProgram("belfry").path)
        process.arguments = ["up", file, "--host", host]
        let log = "\(folder)/\(host).txt"
        try Data().write(to: URL(fileURLWithPath: log))
        process.standardError = FileHandle(forWritingAtPath: log)
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        processes[host] = process
        let end = ContinuousClock.now + Self.limit
        while !lines(of: host).contains("ready") {
            try interruption.check()
            guard process.isRunning, .now < end else {
                throw ToolFailure(
                    .unavailable, "host \(host) did not start:\n\(lines(of: host).joined(separator: "\n"))")
            }
            usleep(20_000)
        }
    }

    private func lines(of host: String) -> [Substring] {
        let bytes = FileManager.default.contents(atPath: "\(folder)/\(host).txt") ?? Data()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    /// Kills all processes of a host at once.
    private func kill(_ host: String) {
        guard let process = processes.removeValue(forKey: host) else { return }
        var stages: [String: Int32] = [:]
        for line in lines(of: host) {
            guard let pid = line.firstMatch(of: /^([^:]+): .*, process ([0-9]+)/) else { continue }
            stages[String(pid.1)] = Int32(pid.2)
        }
        for pid in [process.processIdentifier] + stages.values { Glibc.kill(pid, SIGKILL) }
        process.waitUntilExit()
    }

    /// A TCP port that no program uses at this moment.
    private static func freePort() throws -> Int {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 ? getsockname(socket, $0, &length) : -1
            }
        }
        guard status == 0 else { throw ToolFailure(.unavailable, "there is no free TCP port") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
