import BuiltIns
import EventLog
import PipelineKit
import PipelineRuntime
import TestSupport
import ZeroMQ

/// A simulated pipeline from one seed, on one thread: five stages with their hosts, two producers, and all faults.
final class World {
    let seed: UInt64
    let folder: Folder
    let file: PipelineFile
    let canary: Canary?
    let registry: Registry
    let context: HostContext
    let faults = FaultCounts()
    let time = SimulatedTime()
    let disk: SimulatedDisk
    let network: SimulatedNetwork
    let transports: SimulatedTransports
    let snapshots: SnapshotFaults
    var random: Seeded
    /// Errors of hosts, valid lines that the door refused, states that differ from the logs, and work that does not
    /// finish.
    var problems: [String] = []
    private(set) var hosts: [SimulatedHost] = []
    private(set) var producers: [SimulatedProducer] = []
    /// A host appends the outputs of one event or wake in parts of at least this many bytes. The last part may be
    /// smaller.
    let partBytes: Int
    private let mayLosePower: Bool
    private var faultRarity = 1
    private var steps = 0
    /// How many states were compared with the logs, by stage.
    private(set) var comparedStates: [String: Int] = [:]

    init(seed: UInt64, context: HostContext, canary: Canary? = nil) throws {
        Cost.spend(.worlds)
        self.seed = seed
        self.canary = canary
        self.context = context
        random = Seeded(seed)
        folder = try Folder(in: "/dev/shm")
        let sync = random.one(of: [SyncPolicy.always, .always, .interval(.milliseconds(50)), .never])
        mayLosePower = sync == .always
        file = try World.file(&random).inProcess(
            data: folder.path, seed: "simulation \(seed)",
            log: LogSettings(
                sync: sync, segmentBytes: 4_000 + random.below(60_000), snapshotBytes: 500 + random.below(20_000)))
        partBytes = random.one(of: [1, 700, 2_000, Outbox.partBytes])
        registry = canary?.registry ?? .simulated
        disk = SimulatedDisk(seed: random.next(), faults: faults)
        network = SimulatedNetwork(seed: random.next(), time, faults)
        transports = SimulatedTransports(seed: random.next(), time, faults)
        snapshots = SnapshotFaults(folder.path + "/logs", seed: random.next(), faults)
        hosts = file.stagesInOrder.map { SimulatedHost($0, in: self) }
        for name in ["p", "q"] {
            let load = ProducerLoad(name, seed: random.next(), length: 20 + random.below(60))
            producers.append(try SimulatedProducer(name, load, in: self))
        }
    }

    private static func file(_ random: inout Seeded) throws -> PipelineFile {
        try PipelineFile.parse(
            """
            pipeline: simulation
            data: /nowhere
            stages:
              ingest: {}
              match: {from: ingest}
              coalesce:
                from: match
                policy: \(random.one(of: ["latest", "latest", "debounce", "debounce", "none"]))
                window: \(random.below(4) * 200)ms
                maximumDelay: \(1_000 + random.below(2_000))ms
                pendingPerUser: \(random.one(of: [1, 2, 100]))
                atLimit: \(random.one(of: ["flush-oldest", "flush-all", "pass-newest"]))
              payload: {from: coalesce}
              deliver:
                from: payload
                transports: {apns: {use: console}, courier: {use: console}}
                retired: {use: console}
            """, file: "simulation.yaml", registry: .builtIns)
    }

    /// Runs the world to its end.
    ///
    /// - Returns: The problems. The logs are checked only if there is no problem before the end. If these checks or the
    ///   transports then have problems, the ``report`` follows them.
    func run() throws -> [String] {
        faultRarity = random.one(of: [1, 2, 4])
        var faultySteps = 0
        while !producers.allSatisfy(\.isDone) || faultySteps < 150, faultySteps < 600, problems.isEmpty {
            try step(withFaults: true)
            faultySteps += 1
        }
        stopFaults()
        try drain()
        compareWithFolds()
        guard problems.isEmpty else { return problems }
        let found = try Checks(self).problems + transports.problems
        return found.isEmpty ? [] : found + [report]
    }

    /// Releases the hosts' resources.
    func end() { for host in hosts { host.crash() } }

    private func step(withFaults hasFaults: Bool) throws {
        if hasFaults { try disturb() }
        time.pass(random.isOneIn(40) ? .milliseconds(200 + random.below(1_000)) : .microseconds(random.below(12_000)))
        network.update()
        for producer in producers.shuffled(using: &random) {
            if random.isOneIn(3) { try producer.sendLines(1 + random.below(6)) }
            try producer.runOnce()
        }
        for host in hosts.shuffled(using: &random) where !random.isOneIn(5) { host.runOnce() }
        steps += 1
        if hasFaults, steps % 25 == 0 { compareWithFolds() }
    }

    /// Checks that a snapshot from the logs equals a snapshot of the stage's state.
    private func compareWithFolds() {
        for host in hosts where canary == nil {
            let difference = host.differenceFromFold { comparedStates[host.stage.name, default: 0] += 1 }
            if let difference { problems.append("\(host.stage.name): \(difference)") }
        }
    }

    // MARK: Faults

    private func disturb() throws {
        if random.isOneIn(30 * faultRarity), let host = randomRunningHost() {
            faults.note(.processKilled)
            host.crash()
        }
        if random.isOneIn(30 * faultRarity), let host = randomRunningHost() {
            host.process.dieInACall(after: random.below(8))
        }
        if random.isOneIn(80 * faultRarity) { randomRunningHost()?.stop() }
        if mayLosePower, random.isOneIn(50 * faultRarity) { try cutPower() }
        if random.isOneIn(60 * faultRarity) { setClock() }
        if random.isOneIn(80 * faultRarity) { try random.one(of: producers).killAndStartAgain() }
    }

    private func randomRunningHost() -> SimulatedHost? {
        let running = hosts.filter(\.isUp)
        return running.isEmpty ? nil : random.one(of: running)
    }

    /// Cuts the power of one stage's machine, or of the machines of all stages.
    private func cutPower() throws {
        faults.note(.powerCut)
        transports.notePowerFailure()
        for host in random.isOneIn(2) ? hosts : [random.one(of: hosts)] {
            host.losePower()
            try disk.losePower(under: folder.path + "/logs/" + host.stage.logName)
            try disk.losePower(under: folder.path + "/logs/" + host.stage.logName + ".dead-letters")
        }
    }

    private func setClock() {
        let isBack = random.isOneIn(2)
        faults.note(isBack ? .clockBack : .clockAhead)
        let most = random.one(of: [5_000, 5_000, 300_000, 7_200_000])
        time.setWall(by: .milliseconds((isBack ? -1 : 1) * (1 + random.below(most))))
    }

    // MARK: The end

    private func stopFaults() {
        disk.stopFaults()
        transports.stopFaults()
        network.isFaulty = false
    }

    /// Continues without faults until no push waits and the stages have written nothing for five seconds, which is
    /// longer than any window.
    private func drain() throws {
        var (quiet, last) = (Duration.zero, positions)
        for _ in 0..<5_000 where problems.isEmpty {
            let before = time.elapsed
            try step(withFaults: false)
            time.pass(.milliseconds(20))
            for producer in producers where !producer.isDone { try producer.sendLines(10) }
            quiet = positions == last && isIdle ? quiet + (time.elapsed - before) : .zero
            last = positions
            guard quiet > .seconds(5) else { continue }
            if try pendingPushes == 0 { return }
            time.pass(.seconds(60))
        }
        if problems.isEmpty { problems.append("the pipeline does not finish: \(try unfinishedWork)") }
    }

    /// How far each stage has come, and how many producers and pushes still wait.
    private var unfinishedWork: String {
        get throws {
            let stages = hosts.map { host in
                let (report, last) = (host.report, host.log?.lastSequence ?? 0)
                return "\(host.stage.name) \(host.isUp ? host.isIdle ? "idle" : "at work" : "down"), log at \(last), "
                    + "\(report?.taken ?? 0) taken, \(report.map { "\($0.phase)" } ?? "no report")"
            }
            let waiting = producers.filter { !$0.isDone }.count
            return (stages + ["\(waiting) producers wait", "\(try pendingPushes) pushes wait"]).joined(separator: "; ")
        }
    }

    /// The number of attempted pushes without an outcome, plus the number of retirement notices without an outcome.
    private var pendingPushes: Int {
        get throws { try Conservation.pending(in: LogLines.read(folder.path + "/logs/outcomes")) }
    }

    /// The report of each host, the log settings and the faults.
    private var report: String {
        let hosts = hosts.map { "\($0.stage.name): \($0.report.map { "\($0)" } ?? "down")" }
        return (hosts + ["\(file.log), \(time.elapsed), \(faults.text)"]).joined(separator: "\n")
    }

    private var positions: [UInt64?] { hosts.map { $0.log?.lastSequence } }

    private var isIdle: Bool { producers.allSatisfy(\.isDone) && hosts.allSatisfy { $0.isUp && $0.isIdle } }
}
