import JetStreamHome
import PipelineKit
import PipelineRuntime
import Time
import ZeroMQ

/// Checks the hosts of a pipeline: which one runs each stage, which ones stand by, their gateways and their clocks.
struct HostsCheck: DoctorCheck {
    let name = "hosts"

    /// More than this between two machines' clocks is reported.
    private static let clockDifferenceMax = Duration.seconds(1)

    /// What a stage on a host says. `health` is nil if it does not answer.
    struct Answer: Sendable {
        var stage: String
        var host: String
        var health: StageHealth?

        var isOwner: Bool { health.map { !$0.isStandingBy } ?? false }
    }

    func findings(in target: DoctorTarget) async throws -> [Finding] {
        guard target.logs == nil, let file = target.file, !file.hosts.isEmpty, let home = file.log.home else {
            return []
        }
        let answers = try await Self.ask(file, target.keys)
        guard answers.contains(where: { $0.health != nil }) else {
            return [Finding(.note, "hosts.not_running", "the pipeline is not running: no host answers")]
        }
        let clocks = try await SocketThread.run(name: "doctor clocks") { try Self.clocks(file, home) }
        let gateways = try await Self.gateways(
            of: file.hosts.filter { Self.mayRunGateway($0, answers) }, in: file, target.path)
        let found =
            Self.findings(answers) + clocks.compactMap { Self.finding(ofClock: $0.host, $0.ahead) }
            + gateways.compactMap(Self.silence)
        return (found.isEmpty ? [Self.ready(file, answers, gateways)] : found) + gateways.compactMap(Self.note)
    }

    /// Whether the host runs, as far as its stages show. Another finding reports a host whose stages are all silent.
    private static func mayRunGateway(_ host: HostSettings, _ answers: [Answer]) -> Bool {
        let own = answers.filter { $0.host == host.name }
        return own.isEmpty || own.contains { $0.health != nil }
    }

    private static func ready(_ file: PipelineFile, _ answers: [Answer], _ gateways: [Gateway]) -> Finding {
        let owners = file.hosts.map { host in
            "host \(host.name) runs \(answers.count { $0.host == host.name && $0.isOwner }.of("stage"))"
        }
        let gateways = gateways.filter(\.answers).map { "the gateway of host \($0.host) answers" }
        return Finding(.ok, "hosts.ready", (owners + gateways).joined(separator: ", "))
    }

    private static func ask(_ file: PipelineFile, _ keys: CurveKeyPair?) async throws -> [Answer] {
        let context = try HostContext()
        var surroundings = HostSurroundings(registry: .builtIns, context: context)
        surroundings.toolKeys = keys
        return try await withThrowingTaskGroup(of: Answer.self) { group in
            for host in file.hosts {
                let onHost = file.addressed(to: host)
                for stage in onHost.stagesOfHost {
                    let plan = try StageHost(stage, of: onHost, in: surroundings).plan
                    group.addTask {
                        try await SocketThread.run(name: "doctor \(stage.name)") {
                            let text = try HealthProbe(plan, context).ask(timeout: HealthCheck.timeout)
                            return Answer(
                                stage: stage.name, host: host.name, health: text.flatMap { StageHealth($0) })
                        }
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted {
                ($0.host, $0.stage) < ($1.host, $1.stage)
            }
        }
    }

    /// The problems; empty if each stage runs on one host, and all hosts answer.
    static func findings(_ answers: [Answer]) -> [Finding] {
        var found: [Finding] = []
        for stage in Set(answers.map(\.stage)).sorted()
        where !answers.contains(where: { $0.stage == stage && $0.isOwner }) {
            found.append(
                Finding(
                    .error, "hosts.no_owner", "no host runs \(stage)",
                    fix: "a host that stands by takes over within seconds; if none does, start one with `belfry up`",
                    ["stage": .text(stage)]))
        }
        let silent = Dictionary(grouping: answers.filter { $0.health == nil }, by: \.host)
        for (host, answers) in silent.sorted(by: { $0.key < $1.key }) {
            let stages = answers.map(\.stage).joined(separator: ", ")
            found.append(
                Finding(
                    .warning, "hosts.silent", "host \(host) does not answer for \(stages), so it would not take over",
                    fix: "start it with `belfry up FILE --host \(host)`", ["host": .text(host)]))
        }
        return found
            + answers.compactMap { answer in
                answer.health.flatMap { HealthCheck.finding("\(answer.stage) on host \(answer.host)", $0) }
            }
    }

    /// How far the clock of each host that runs a stage is ahead of this machine's.
    private static func clocks(_ file: PipelineFile, _ home: HomeSettings) throws -> [(host: String, ahead: Duration)] {
        let servers = try JetStreamHome(home, pipeline: file.name) { _ in }
        let watches = try file.stagesInOrder.map { OwnerWatch(file.hosts, try servers.beacons(of: $0.logName)) }
        var ahead: [String: Duration] = [:]
        for watch in watches {
            guard let host = watch.owner(atMost: HealthCheck.timeout), ahead[host.name] == nil else { continue }
            ahead[host.name] = watch.clockAhead
        }
        return ahead.map { (host: $0.key, ahead: $0.value) }.sorted { $0.host < $1.host }
    }

    static func finding(ofClock host: String, _ ahead: Duration) -> Finding? {
        guard abs(ahead / .seconds(1)) > clockDifferenceMax / .seconds(1) else { return nil }
        let way = ahead > .zero ? "ahead of" : "behind"
        let difference = LogTime.text(ahead > .zero ? ahead : .zero - ahead)
        return Finding(
            .warning, "hosts.clock", "the clock of host \(host) is \(difference) \(way) this machine's",
            fix: "let both machines use NTP; a log's time never goes back, so it would stand still after a take-over",
            ["host": .text(host)])
    }
}
