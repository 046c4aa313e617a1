import Foundation
import Glibc
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing

/// Two hosts that run one pipeline: two addresses of this machine, each with its own folder and pipeline file. Only one
/// thread may use it.
final class LiveHosts {
    static let names = ["a", "b"]

    let folder: Folder
    private var ups: [String: SpawnedProgram] = [:]
    private var sends = 0
    private let ports: [[ReservedPort]]
    private let lanes: Int
    private let stages: [String]
    private var gatewayPort: ReservedPort?
    private let gatewayPortNumber: Int

    /// - Parameters:
    ///   - replicas: On how many servers each event is stored.
    ///   - takeOver: The setting of that name.
    ///   - lanes: How many lanes the pipeline has.
    ///   - hasGateway: Whether host b also runs a gateway.
    ///   - gatewayMayListen: Whether the gateway's port is free. If not, host b is started without waiting for it.
    init(
        on servers: NATSServers, replicas: Int = 1, takeOver: String = "1s", lanes: Int = 1,
        hasGateway: Bool = false, gatewayMayListen: Bool = true
    ) throws {
        (folder, self.lanes) = (try Folder(), lanes)
        ports = try (0..<6).map { _ in try ReservedPort.row(of: lanes, forServer: true) }
        stages = LivePipeline.stages.flatMap { stage in
            lanes == 1 || stage == "ingest" ? [stage] : (0..<lanes).map { stage + Lane($0, of: lanes).suffix }
        }
        let gatewayPort = try ReservedPort(forServer: gatewayMayListen)
        (self.gatewayPort, gatewayPortNumber) = (gatewayPort, gatewayPort.number)
        var text = LiveHosts.yaml(servers, replicas, takeOver, lanes, ports.map { $0[0].number })
        if hasGateway {
            let stages = LivePipeline.stages.joined(separator: ", ")
            text = text.replacing("a: {address: 127.0.0.1}", with: "a: {address: 127.0.0.1, stages: [\(stages)]}")
            text += "\napi: {listen: \"127.0.0.1:\(gatewayPortNumber)\"}\n"
        }
        for host in LiveHosts.names {
            mkdir(folder.file(host), 0o755)
            try folder.write(text, to: "\(host)/pipeline.yaml")
        }
        for host in LiveHosts.names { try start(host, waits: gatewayMayListen || host == "a") }
    }

    deinit { for host in ups.keys { kill(host) } }

    private static func yaml(
        _ servers: NATSServers, _ replicas: Int, _ takeOver: String, _ lanes: Int, _ ports: [Int]
    ) -> String {
        func address(_ index: Int) -> String { #""tcp://127.0.0.1:\#(ports[index])""# }
        return """
            pipeline: hosts
            data: data
            seed: faults
            lanes: \(lanes)
            log:
              home: jetstream
              servers: [\(servers.addresses.map { "\"\($0)\"" }.joined(separator: ", "))]
              replicas: \(replicas)
              takeOver: \(takeOver)
              snapshotBytes: 4KiB
              segmentBytes: 64KiB
            hosts:
              a: {address: 127.0.0.1}
              b: {address: 127.0.0.2}
            stages:
              ingest: {bind: \(address(0)), door: \(address(5))}
              match: {from: ingest, bind: \(address(1))}
              coalesce: {from: match, window: 0s, bind: \(address(2))}
              payload: {from: coalesce, bind: \(address(3))}
              deliver:
                from: payload
                bind: \(address(4))
                transports:
                  apns: {use: file, path: pushes.ndjson}
            """
    }

    func file(of host: String) -> String { folder.file("\(host)/pipeline.yaml") }

    /// Starts a host, and waits until each of its stages runs or stands by.
    ///
    /// - Parameter waits: False to return at once.
    func start(_ host: String, waits: Bool = true) throws {
        let up = try SpawnedProgram("belfry", ["up", file(of: host), "--host", host])
        ups[host] = up
        if waits { try up.wait("host \(host) is ready") { up.lines.contains("ready") } }
    }

    /// Ends what keeps the gateway from listening.
    func freeGatewayPort() { gatewayPort = nil }

    /// Starts a host once more, from a folder of its own, and waits until it has given up.
    ///
    /// - Returns: What it said.
    func linesOfSecondStart(of host: String) throws -> [String] {
        mkdir(folder.file("second"), 0o755)
        try folder.write(folder.lines(of: "\(host)/pipeline.yaml").joined(separator: "\n"), to: "second/pipeline.yaml")
        let up = try SpawnedProgram("belfry", ["up", folder.file("second/pipeline.yaml"), "--host", host])
        #expect(try up.waitUntilExit() == 69)
        return up.lines
    }

    /// Everything that the processes of a host have said.
    func lines(of host: String) -> [String] {
        ups[host]?.read(wait: .zero)
        return ups[host]?.lines ?? []
    }

    func wait(for host: String, _ what: String, until isMet: ([String]) throws -> Bool) throws {
        guard let up = ups[host] else { throw FaultError("host \(host) does not run") }
        try up.wait(what) { try isMet(up.lines) }
    }

    /// Waits until a host runs every stage.
    func waitUntilOwner(_ host: String) throws {
        try wait(for: host, "host \(host) runs every stage") { lines in
            stages.allSatisfy { LiveHosts.isOwner(of: $0, lines) }
        }
    }

    /// Whether the host with these lines runs the stage.
    static func isOwner(of stage: String, _ lines: [String]) -> Bool {
        let last = lines.last { line in
            line == "\(stage): standing by" || line.hasPrefix("\(stage): this host runs")
                || line.hasPrefix("\(stage): ready")
        }
        return last.map { !$0.hasSuffix("standing by") } ?? false
    }

    /// The process of a stage that runs or stands by on a host.
    func process(of stage: String, on host: String) -> Int32? { processes(of: host)[stage] }

    private func processes(of host: String) -> [String: Int32] {
        var found: [String: Int32] = [:]
        for line in lines(of: host) {
            guard let stage = line.split(separator: ":").first.map(String.init),
                let pid = line.firstMatch(of: /, process ([0-9]+)/).flatMap({ Int32($0.1) })
            else { continue }
            found[stage] = pid
        }
        return found
    }

    /// Kills all processes of a host at once, as if the machine had lost its power.
    func kill(_ host: String) {
        guard let up = ups.removeValue(forKey: host) else { return }
        for _ in 0..<5 { up.read(wait: .zero) }
        ups[host] = up
        let pids = [up.pid] + processes(of: host).values
        ups[host] = nil
        Cost.spend(.kills)
        for pid in pids { Glibc.kill(pid, SIGKILL) }
    }

    /// Replaces the data folder of a host by a copy of another one's.
    func copyData(from host: String, to other: String) throws {
        let target = folder.file("\(other)/data")
        try FileManager.default.removeItem(atPath: target)
        let files = FileManager.default.enumerator(atPath: folder.file("\(host)/data"))
        mkdir(target, 0o700)
        while let name = files?.nextObject() as? String {
            let (source, copy) = (folder.file("\(host)/data/\(name)"), "\(target)/\(name)")
            switch files?.fileAttributes?[.type] as? FileAttributeType {
            case .typeDirectory: mkdir(copy, 0o700)
            case .typeRegular: try FileManager.default.copyItem(atPath: source, toPath: copy)
            default: break
            }
        }
    }

    /// Sends a signal to all processes of a host.
    func signal(_ host: String, _ number: Int32) {
        guard let up = ups[host] else { return }
        for pid in processes(of: host).values { Glibc.kill(pid, number) }
        up.signal(number)
    }

    /// Begins to send commands from a host.
    func send(_ commands: ArraySlice<String>, from host: String = "a") throws -> SpawnedProgram {
        sends += 1
        let name = "commands-\(sends).ndjson"
        try folder.write(commands.joined(separator: "\n") + "\n", to: name)
        return try SpawnedProgram(
            "belfry", ["send", file(of: host), "--producer", "p\(sends)", "--wait", folder.file(name)])
    }

    /// Runs `belfry up --drain` for a host.
    ///
    /// - Returns: The exit status.
    func drain(_ host: String) throws -> Int32 {
        try SpawnedProgram("belfry", ["up", file(of: host), "--host", host, "--drain"]).waitUntilExit()
    }

    /// Sends a request of Alice to the gateway.
    ///
    /// - Returns: The answer; empty if there was none in time.
    func ask(_ path: String, _ body: String) throws -> String {
        let url =
            "http://127.0.0.1:\(gatewayPortNumber)/database/1/iCloud.com.example.Notes/development/\(path)"
            + "?ckWebAuthToken=_alice"
        let curl = try SpawnedProgram(
            ["/usr/bin/curl", "-sS", "-m", "20", url, "-d", body], output: folder.file("answer.json"))
        _ = try curl.waitUntilExit()
        return try folder.lines(of: "answer.json").joined()
    }

    /// What `belfry doctor` prints.
    func doctor() throws -> String {
        _ = try SpawnedProgram("belfry", ["doctor", file(of: "a")], output: folder.file("doctor.txt")).waitUntilExit()
        return try folder.lines(of: "doctor.txt").joined(separator: "\n")
    }

    /// A producer that has sent one line to the door of a host, whether it owns the log or not.
    func producer(at host: String) throws -> Producer {
        let address = host == "a" ? "127.0.0.1" : "127.0.0.2"
        let producer = try Producer(
            ToolSocket.make(nil, HostContext()), endpoint: "tcp://\(address):\(ports[5][0].number)", name: "late",
            secret: "the secret of late")
        try producer.send(Array((Notes.note(1) + "\n").utf8), count: 1)
        return producer
    }

    /// The pushes of both hosts.
    func pushes() throws -> [String] { try LiveHosts.names.flatMap(pushes) }

    func pushes(of host: String) throws -> [String] {
        let path = "\(host)/pushes.ndjson"
        let files = lanes == 1 ? [path] : (0..<lanes).map { Lane($0, of: lanes).path(path) }
        return try files.filter { access(folder.file($0), F_OK) == 0 }.flatMap { try folder.lines(of: $0) }
    }

    /// The pushes that `belfry run`, which nothing disturbs, makes from the commands.
    func expectedPushes(for commands: [String]) throws -> Set<String> {
        try folder.write(commands.joined(separator: "\n") + "\n", to: "all.ndjson")
        let run = try SpawnedProgram(
            "belfry", ["run", file(of: "a"), folder.file("all.ndjson")], output: folder.file("expected.ndjson"))
        let status = try run.waitUntilExit()
        guard status == 0 else {
            throw FaultError("belfry run ended with \(status)\n\(run.lines.joined(separator: "\n"))")
        }
        return Set(try folder.lines(of: "expected.ndjson"))
    }

    /// Stops a host, and waits until all its processes have ended.
    ///
    /// - Returns: The exit status of `belfry up`.
    func stop(_ host: String) throws -> Int32? {
        guard let up = ups[host] else { return nil }
        up.signal(SIGTERM)
        return try up.waitUntilExit()
    }
}
