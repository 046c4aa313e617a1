import EventLog
import Glibc
import JSON
import PipelineKit
import Time
import ZeroMQ

/// Where a host's time comes from.
package enum HostClock: Sendable, Hashable {
    /// The machine's clock, never going back within a log.
    case wall
    /// The input's own times, passed down from stage to stage: `belfry run`, replay and tests. Nothing waits.
    case event
}

/// All that a host must know to run one stage; made from a pipeline file.
package struct HostPlan: Sendable {
    /// The stage's name in the pipeline file.
    package var stage: String
    /// Name of the stage's log.
    package var logName: String
    /// The folder that holds the logs of the pipeline.
    package var logsDirectory: String
    /// What a new log gets as its identity; nil: one is drawn.
    package var identity: LogIdentity?
    /// Of the folders and sockets that it makes.
    package var mode: DataMode
    /// When the stage's appends are forced to the disk.
    package var sync: SyncPolicy
    /// A segment is closed before it would grow larger; one batch may be larger alone.
    package var segmentBytesMax: Int
    /// Input between two snapshots of the stage's state; nil: none are taken.
    package var snapshotBytes: Int?
    /// Which segments of the log, and which dead letters, may go.
    package var retention: RetentionSettings
    /// The stage's own settings, as they are kept beside its log.
    var settingsRecord: String
    /// The same for a log that kept none so far.
    var firstSettingsRecord: String
    let registry: Registry
    /// The stages of the pipeline file that read this one's log.
    package var consumers: [String]
    /// Where consumers connect.
    package var bind: String
    /// Where the upstream's consumers connect; nil for a source.
    package var upstream: String?
    /// The folder of the upstream's log, if it is on this machine; nil for a source.
    package var inputLog: String?
    /// Where producers connect; nil for any stage but a source.
    package var door: String?
    /// Where the host's time comes from.
    package var clock: HostClock
    package var time = HostTime()
    /// How its logs reach the disk.
    package var calls = FileCalls()
    /// How much of a step's outputs is appended at once.
    package var partBytes = Outbox.partBytes
    /// Whether the stage has a process to itself, so that a crash of the process is its own.
    var isAlone = true
    /// How the stage's process before this one ended, if whoever started both says so.
    var endBefore: String?
    /// The pipeline's folder.
    package var data: String
    var curve: CurvePlan?
    /// A program that does the stage's work over a link; nil for a stage of this process.
    package var command: [String]
    /// The folder that the program starts in.
    package var directory: String?
    /// Where the program connects.
    package var pluginEndpoint: String

    var logDirectory: String { logsDirectory + "/" + logName }

    var deadLettersName: String { logName + ".dead-letters" }

    var hasDeadLetters: Bool { access(logsDirectory + "/" + deadLettersName + "/log.json", F_OK) == 0 }

    var logOptions: EventLogOptions {
        options(logName, identity)
    }

    /// The dead letters' identity follows from the log's, so that a seeded pipeline is the same to the last byte.
    func deadLetterOptions(beside log: LogIdentity) -> EventLogOptions {
        options(deadLettersName, LogIdentity(seed: log.description, name: deadLettersName))
    }

    private func options(_ name: String, _ identity: LogIdentity?) -> EventLogOptions {
        var options = EventLogOptions(
            directory: logsDirectory, name: name, identity: identity, segmentBytesMax: segmentBytesMax, sync: sync,
            mode: mode)
        options.calls = calls
        return options
    }
}

extension HostPlan {
    /// - Parameter toolKeys: See ``HostSurroundings/toolKeys``.
    /// - Throws: ``SettingsError`` when the stage's kind is not registered, or does not fit its place.
    init(
        _ stage: PipelineStage, of file: PipelineFile, clock: HostClock, registry: Registry,
        toolKeys: CurveKeyPair? = nil
    ) throws {
        let type = registry.stages[stage.kind]
        if stage.command.isEmpty { try HostPlan.check(stage, type, registry) }
        self.stage = stage.name
        logName = stage.logName
        data = file.data
        logsDirectory = file.data + "/logs"
        identity = file.seed.map { LogIdentity(seed: $0, name: stage.logName) }
        mode = file.dataMode
        sync = file.log.sync
        segmentBytesMax = file.log.segmentBytes
        snapshotBytes = file.log.snapshotBytes
        retention = file.log.retention
        settingsRecord = registry.record(of: stage)
        firstSettingsRecord = registry.recordAsWritten(of: stage)
        self.registry = registry
        consumers = file.downstream(of: stage).map(\.name)
        bind = stage.bind
        upstream = file.upstream(of: stage)?.bind
        inputLog = file.upstream(of: stage).map { "\(file.data)/logs/\($0.logName)" }
        var settings = stage.settings
        door = stage.from == nil ? HostPlan.door(of: stage, try settings.optionalAddress("door"), file) : nil
        self.clock = clock
        curve = try CurvePlan(stage, of: file, tool: toolKeys)
        command = stage.command
        directory = stage.directory
        pluginEndpoint = "ipc://\(file.data)/\(stage.name).plugin"
    }

    /// In one process the door is as close as the links, wherever the file puts it.
    private static func door(of stage: PipelineStage, _ given: String?, _ file: PipelineFile) -> String {
        if stage.bind.hasPrefix("inproc://") { return stage.bind + "-door" }
        return given ?? "ipc://\(file.data)/\(stage.name).door"
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
        if stage.settings.contains("use"), !stage.settings.contains("stage") {
            return stage.settings.fail("use", "unknown key", hint: "did you mean \"stage\"?")
        }
        let near = Spelling.suggestion(for: stage.kind, among: known).map { $0 + " " } ?? ""
        return stage.settings.fail(
            "stage", "there is no stage '\(stage.kind)'",
            hint: "\(near)known: \(known.joined(separator: ", ")); or give a `command`")
    }
}
