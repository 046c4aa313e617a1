import EventLog
import Glibc
import JSON
import PipelineKit
import Time
import ZeroMQ

/// The clock of a host.
package enum HostClock: Sendable, Hashable {
    /// The machine's clock. The times in a log never go back, even if this clock does.
    case wall
    /// Virtual time: the times in the input, passed down from stage to stage, without real waits. For `belfry run` and
    /// tests.
    case event
}

/// Everything that a host needs to run one stage; made from a pipeline file.
package struct HostPlan: Sendable {
    /// The stage's name in the pipeline file.
    package var stage: String
    /// The name of the stage's log.
    package var logName: String
    var lane: Lane?
    /// The lane whose lines the stage reads from its upstream; nil for all lines.
    package var linkLane: Lane?
    /// The folder that holds the logs of the pipeline.
    package var logsDirectory: String
    /// The identity of a new log; nil for a random identity.
    var identity: LogIdentity?
    var mode: DataMode
    var sync: SyncPolicy
    /// Where the stage's logs are kept besides the local files; nil for local files alone.
    var home: HomeSettings?
    /// The machines that may run the stage; nil if the file names none.
    var hosts: HostsPlan?
    /// If set, the stage's log is taken over in its home only if it ends there at this position.
    var endInHome: UInt64?
    private let openedHome = OpenedHome()
    /// The pipeline's name.
    var pipeline: String
    /// A segment is closed before it grows beyond this size. A larger batch gets a segment of its own.
    var segmentBytesMax: Int
    /// A snapshot is taken after at least this many bytes of input, and at a clean stop; nil for no snapshots.
    var snapshotBytes: Int?
    var retention: RetentionSettings
    /// The stage's own settings, as they are recorded beside its log.
    var settingsRecord: String
    /// The settings to record for a log that has events but no recorded settings: an earlier build wrote it.
    var firstSettingsRecord: String
    var surroundings: HostSurroundings
    /// The names of the readers of the stage's log, from the pipeline file.
    var consumers: [String]
    /// Where consumers connect.
    package var bind: String
    /// This address in the file. In a pipeline with hosts, ``bind`` is that on this machine.
    private var bindInFile: String
    /// Where the upstream's consumers connect; nil for a source.
    package var upstream: String?
    /// The folder of the upstream's log; nil for a source. The folder exists only if the upstream runs on the same
    /// machine.
    var inputLog: String?
    /// Where producers connect; nil unless the stage is a source.
    package var door: String?
    /// The door's address in the file. In a pipeline with hosts, ``door`` is that on this machine.
    var doorInFile: String?
    /// The pipeline's data folder.
    var data: String
    var curve: CurvePlan?
    /// The program that does the stage's work over a link; empty for a stage in this process.
    var command: [String]
    /// The folder that the program starts in.
    var directory: String?
    /// The endpoint that the program connects to.
    package var pluginEndpoint: String

    var clock: HostClock { surroundings.clock }
    var time: HostTime { surroundings.time }
    var calls: FileCalls { surroundings.calls }
    var registry: Registry { surroundings.registry }

    var logDirectory: String { logsDirectory + "/" + logName }

    var deadLettersName: String { logName + ".dead-letters" }

    var hasDeadLetters: Bool { access(logsDirectory + "/" + deadLettersName + "/log.json", F_OK) == 0 }

    /// The home of the stage's logs; nil if they are only in local files. Copies of this plan share one connection.
    func openHome() throws -> (any LogHome)? {
        guard let home else { return nil }
        guard let open = surroundings.openHome else {
            throw home.place.fail("home", "this program cannot use logs in \(LogSettings.jetStreamName)")
        }
        return try openedHome.get { try open(home, pipeline, hosts?.own.name, stage) }
    }

    /// Ends every wait for the home of the stage's logs. The next ``openHome()`` opens it again.
    func interruptHome() { openedHome.current?.interrupt() }

    /// Finds the machine that runs the upstream; nil if the upstream cannot move.
    func upstreamWatch() throws -> OwnerWatch? {
        guard let hosts, let log = hosts.upstreamLog, let home = try openHome() else { return nil }
        return OwnerWatch(hosts.all, try home.beacons(of: log))
    }

    /// Finds the machine that runs this stage; nil if the stage cannot move.
    package func ownerWatch() throws -> OwnerWatch? {
        guard let hosts, let home = try openHome() else { return nil }
        return OwnerWatch(hosts.all, try home.beacons(of: logName))
    }

    /// Where readers connect on a host; nil if the host is unknown.
    package func bind(on host: HostSettings?) -> String? { host?.endpoint(of: bindInFile) }

    /// The door's address on a host; nil without a door.
    package func door(on host: HostSettings?) -> String? { doorInFile.flatMap { host?.endpoint(of: $0) } }

    func logOptions(in home: (any LogHome)?) -> EventLogOptions {
        var options = options(logName, identity, home)
        options.endInHome = endInHome
        return options
    }

    /// The options of the dead letters' log. Its identity is computed from the identity of the stage's log, so that a
    /// seeded pipeline is reproducible.
    func deadLetterOptions(beside log: LogIdentity, in home: (any LogHome)?) -> EventLogOptions {
        options(deadLettersName, LogIdentity(seed: log.description, name: deadLettersName), home)
    }

    private func options(_ name: String, _ identity: LogIdentity?, _ home: (any LogHome)?) -> EventLogOptions {
        var options = EventLogOptions(
            directory: logsDirectory, name: name, identity: identity, segmentBytesMax: segmentBytesMax, sync: sync,
            mode: mode)
        (options.calls, options.home) = (calls, home)
        return options
    }
}

extension HostPlan {
    /// - Throws: ``SettingsError`` if the stage's kind is unknown or does not fit its position in the pipeline, or if
    ///   its door's address is invalid, or if its CURVE keys cannot be read or are invalid.
    init(_ stage: PipelineStage, of file: PipelineFile, in surroundings: HostSurroundings) throws {
        self.surroundings = surroundings
        let registry = surroundings.registry
        let type = registry.stages[stage.kind]
        if stage.command.isEmpty { try HostPlan.check(stage, type, registry) }
        self.stage = stage.name
        (logName, lane) = (stage.logName, stage.lane)
        linkLane = stage.canBeginLane ? stage.lane : nil
        data = file.data
        logsDirectory = file.data + "/logs"
        identity = file.seed.map { LogIdentity(seed: $0, name: stage.logName) }
        mode = file.dataMode
        sync = file.log.sync
        (home, pipeline, hosts) = (file.log.home, file.name, HostsPlan(stage, of: file))
        segmentBytesMax = file.log.segmentBytes
        snapshotBytes = file.log.snapshotBytes
        retention = file.log.retention
        settingsRecord = registry.record(of: stage)
        firstSettingsRecord = registry.recordAsWritten(of: stage)
        consumers = file.consumers(of: stage)
        (bind, bindInFile) = (stage.bind, stage.bindInFile)
        upstream = file.upstream(of: stage)?.bind
        inputLog = file.upstream(of: stage).map { "\(file.data)/logs/\($0.logName)" }
        var settings = stage.settings
        doorInFile = try settings.optionalAddress("door")
        door = stage.from == nil ? HostPlan.door(of: stage, doorInFile, file) : nil
        curve = try CurvePlan(stage, of: file, tool: surroundings.toolKeys)
        command = stage.command
        directory = stage.directory
        pluginEndpoint = "ipc://\(file.data)/\(stage.name).plugin"
    }

    /// The door's address. A stage on an `inproc` link has an `inproc` door, whatever the file says.
    private static func door(of stage: PipelineStage, _ given: String?, _ file: PipelineFile) -> String {
        if stage.bind.hasPrefix("inproc://") { return stage.bind + "-door" }
        if let given { return file.host?.endpoint(of: given, listens: true) ?? given }
        return "ipc://\(file.data)/\(stage.name).door"
    }

    static func check(
        _ stage: PipelineStage, _ type: (any Stage.Type)?, _ registry: Registry
    ) throws(SettingsError) {
        guard let type else { throw unknownKind(stage, registry.stages.keys.sorted()) }
        guard type.isSource == (stage.from == nil) else {
            throw stage.settings.fail(
                "from",
                type.isSource
                    ? "'\(stage.kind)' reads no other stage" : "required: the stage that '\(stage.kind)' reads")
        }
    }

    private static func unknownKind(_ stage: PipelineStage, _ known: [String]) -> SettingsError {
        if !stage.settings.contains("stage") {
            for key in ["use", "kind", "type"] where stage.settings.contains(key) {
                return stage.settings.fail(key, "unknown key", hint: "did you mean \"stage\"?")
            }
            if let error = stage.settings.mistyped("stage") ?? stage.settings.mistyped("command") { return error }
        }
        let near = Spelling.suggestion(for: stage.kind, among: known).map { $0 + " " } ?? ""
        return stage.settings.fail(
            "stage", "unknown kind of stage '\(stage.kind)'",
            hint: "\(near)known: \(known.joined(separator: ", ")); or give a `command`")
    }
}
