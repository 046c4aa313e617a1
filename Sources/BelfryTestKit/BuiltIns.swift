import BuiltIns
import Coalesce
import PipelineKit
import PipelineTestKit
import Time

// Entry points of PipelineTestKit with Belfry's own stages, transports and policies.

extension TestPipeline {
    /// Starts the pipeline that a file describes.
    public static func start(pipelineFile path: String, at now: Instant = .testStart) async throws -> TestPipeline {
        try await start(pipelineFile: path, at: now, registry: .builtIns)
    }

    /// Starts the pipeline that a YAML text describes.
    public static func start(yaml: String, at now: Instant = .testStart) async throws -> TestPipeline {
        try await start(yaml: yaml, at: now, registry: .builtIns)
    }
}

extension StageConformance {
    /// - Parameters:
    ///   - settings: The settings of the stage, as in a pipeline file.
    ///   - events: The events that the stage gets, one JSON object each. If nil, the stage gets samples from all of
    ///     Belfry's logs, or, if it is a source, sample ingest commands.
    /// - Throws: ``PipelineKit/PipelineFileError`` or ``PipelineKit/SettingsError`` if the settings are invalid.
    public init<S: Stage>(_ stage: S.Type, settings: String = "{}", events: [String]? = nil) throws {
        try self.init(stage, settings: settings, events: events, registry: .builtIns)
    }
}

extension ProgramConformance {
    /// - Parameters:
    ///   - directory: The working directory of the program.
    ///   - events: The events that the program gets, one JSON object each and at least two. If nil, the program gets
    ///     samples from all of Belfry's logs.
    ///   - limit: The longest time that each step of the program may take: its start, an answer, its end.
    public init(
        _ command: [String], directory: String? = nil, events: [String]? = nil, limit: Duration = .seconds(5)
    ) throws {
        try self.init(command, directory: directory, events: events, limit: limit, registry: .builtIns)
    }
}

extension PolicyCheck {
    /// - Parameter settings: The settings of the coalesce stage, as in a pipeline file. They must select `policy`.
    /// - Throws: ``PipelineKit/PipelineFileError`` or ``PipelineKit/SettingsError`` if the settings are invalid.
    public init<P: CoalescingPolicy>(_ policy: P.Type, settings: String) throws {
        try self.init(policy, settings: settings, registry: .builtIns)
    }
}
