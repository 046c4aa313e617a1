import BuiltIns
import Coalesce
import PipelineKit
import PipelineTestKit
import Time

// Those of PipelineTestKit, over the stages, transports and policies that Belfry brings along.

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
    ///   - settings: The stage's, as a pipeline file has them.
    ///   - events: What it is fed, one JSON object each; nil: samples of all that Belfry's logs hold.
    /// - Throws: ``PipelineKit/PipelineFileError``, ``PipelineKit/SettingsError`` where the settings are refused.
    public init<S: Stage>(_ stage: S.Type, settings: String = "{}", events: [String]? = nil) throws {
        try self.init(stage, settings: settings, events: events, registry: .builtIns)
    }
}

extension ProgramConformance {
    /// - Parameters:
    ///   - directory: The folder that it starts in.
    ///   - events: What it is fed, one JSON object each; nil: samples of all that Belfry's logs hold.
    ///   - limit: How long it may take to start, to answer, and to end.
    public init(
        _ command: [String], directory: String? = nil, events: [String]? = nil, limit: Duration = .seconds(5)
    ) throws {
        try self.init(command, directory: directory, events: events, limit: limit, registry: .builtIns)
    }
}

extension PolicyCheck {
    /// - Parameter settings: Coalesce's, as a pipeline file has them.
    /// - Throws: ``PipelineKit/PipelineFileError``, ``PipelineKit/SettingsError`` where the settings are refused.
    public init<P: CoalescingPolicy>(_ policy: P.Type, settings: String) throws {
        try self.init(policy, settings: settings, registry: .builtIns)
    }
}
