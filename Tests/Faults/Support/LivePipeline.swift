import Glibc
import PipelineRuntime
import TestSupport
import ZeroMQ

/// Runs `belfry up` for a pipeline in a folder of its own. Only one thread may use it.
final class LivePipeline {
    let folder: Folder
    let file: String
    private(set) var up: SpawnedProgram
    let context: ZMQContext
    private let launcher: [String]
    private let root: String
    private var linesSeen = 0
    private(set) var pids: [String: Int32] = [:]
    private var killed: Set<String> = []

    static let standardLog = "{sync: interval 50ms, snapshotBytes: 4KiB}"
    static let stages = ["ingest", "match", "coalesce", "payload", "deliver"]

    /// - Parameters:
    ///   - coalesceFrom: The stage whose log coalesce reads.
    ///   - middle: Stages between match and coalesce, as in a pipeline file.
    ///   - coalesce: The settings of coalesce, as in a pipeline file.
    ///   - onSmallDisk: Whether the pipeline's data has a small file system of its own.
    ///   - transport: The transport's settings.
    ///   - log: The settings of the logs.
    ///   - folder: The folder of all files. Nil for a new folder.
    init(
        coalesceFrom: String = "match", middle: String = "", coalesce: String = "window: 0s", onSmallDisk: Bool = false,
        folder: Folder? = nil, transport: String = "{use: file, path: pushes.ndjson}", log: String = standardLog
    ) throws {
        let folder = try folder ?? Folder()
        self.folder = folder
        file = try folder.write(
            LivePipeline.yaml(
                coalesceFrom: coalesceFrom, middle: middle, coalesce: coalesce, transport: transport, log: log),
            to: "pipeline.yaml")
        context = try ZMQContext()
        if onSmallDisk { mkdir(folder.file("data"), 0o755) }
        launcher = onSmallDisk ? SmallDisk.launcher(mountingAt: folder.file("data")) : []
        up = try SpawnedProgram(launcher + [Programs.path("belfry"), "up", file])
        root = onSmallDisk ? "/proc/\(up.pid)/root" : ""
        try waitUntilReady()
    }

    /// The folder of the pipeline's data, as the test sees it.
    var data: String { root + folder.path + "/data" }

    static func yaml(
        coalesceFrom: String = "match", middle: String = "", coalesce: String = "window: 0s",
        transport: String = "{use: file, path: pushes.ndjson}", log: String = standardLog
    ) -> String {
        """
        pipeline: faults
        data: data
        seed: faults
        log: \(log)
        stages:
          ingest: {}
          match: {from: ingest}
        \(middle)
          coalesce: {from: \(coalesceFrom), \(coalesce)}
          payload: {from: coalesce}
          deliver:
            from: payload
            transports:
              apns: \(transport)
        """
    }

    /// Starts `belfry up` again after it was stopped or killed.
    func startAgain() throws {
        up = try SpawnedProgram(launcher + [Programs.path("belfry"), "up", file])
        (linesSeen, pids) = (0, [:])
        try waitUntilReady()
    }

    /// Edits the pipeline file, and starts `belfry up` again.
    func startAgain(transport: String) throws {
        try edit(transport: transport)
        try startAgain()
    }

    private func waitUntilReady() throws {
        try up.wait("every stage is ready") {
            readProcessIDs()
            return up.lines.contains("ready")
        }
    }

    /// Reads the process IDs of the stages from the lines of `up`: `match: ready, process 7, ...`,
    /// `match: started again, process 9`.
    private func readProcessIDs() {
        for line in up.lines[linesSeen...] {
            let words = line.split { " ,".contains($0) }
            guard let stage = line.split(separator: ":").first.map(String.init) else { continue }
            if line.contains(" starting it again in ") { pids[stage] = nil }
            if let place = words.firstIndex(of: "process"), let pid = words[(place + 1)...].first.flatMap({ Int32($0) })
            {
                pids[stage] = pid
            }
        }
        linesSeen = up.lines.count
    }

    /// Kills a stage's process. If the stage has no process, first waits until the supervisor has started one.
    func kill(_ stage: String) throws {
        up.read(wait: .zero)
        try up.wait("a process for \(stage)") {
            readProcessIDs()
            return pids[stage] != nil
        }
        guard let pid = pids.removeValue(forKey: stage) else { return }
        killed.insert(stage)
        Cost.spend(.kills)
        Glibc.kill(pid, SIGKILL)
    }

    /// Waits until every killed stage has a process again.
    func waitForRestarts() throws {
        let stages = Set(pids.keys).union(killed)
        up.read(wait: .zero)
        try up.wait("a process for every stage") {
            readProcessIDs()
            return stages.isSubset(of: pids.keys)
        }
    }

    func producer(_ name: String = "faults") throws -> Producer {
        try Producer(
            ToolSocket.make(nil, HostContext()), endpoint: "ipc://\(data)/ingest.door", name: name,
            secret: "the secret of \(name)")
    }

    /// Follows deliver's log over its link, until it has `accepted` outcomes for `count` pairs of a push and a device.
    ///
    /// - Returns: The pairs whose `accepted` outcome was written more than once.
    func waitForAcceptedOutcomes(_ count: Int, within limit: Duration = .seconds(60)) throws -> [String] {
        let watch = try OutcomeWatch(try HostContext(), endpoint: "ipc://\(data)/deliver.link")
        let end = ContinuousClock.now + limit
        while watch.accepted.count < count {
            guard .now < end else {
                up.read(wait: .zero)
                let said = up.lines.joined(separator: "\n")
                throw FaultError(
                    "after \(limit), deliver's log has \(watch.accepted.count) of \(count) accepted outcomes\n\(said)")
            }
            try watch.follow(wait: .milliseconds(100))
        }
        return watch.repeated
    }

    /// The pushes that the file transport has written.
    func pushes() throws -> [String] { try folder.lines(of: "pushes.ndjson") }

    /// The pushes that `belfry run`, which nothing disturbs, makes from the commands.
    func expectedPushes(for commands: [String]) throws -> [String] {
        try folder.write(commands.joined(separator: "\n") + "\n", to: "commands.ndjson")
        let run = try SpawnedProgram(
            "belfry", ["run", file, folder.file("commands.ndjson")], output: folder.file("expected.ndjson"))
        let status = try run.waitUntilExit()
        guard status == 0 else {
            throw FaultError("belfry run ended with \(status)\n\(run.lines.joined(separator: "\n"))")
        }
        return try folder.lines(of: "expected.ndjson")
    }
}
