import BuiltIns
import Events
import Foundation
import PipelineKit
import StageTool

/// One log of a pipeline, with its role and its upstream log.
package struct TracedLog: Hashable, Sendable {
    enum Role: Hashable, Sendable {
        case source
        /// The log of a built-in stage that writes logs of this kind.
        case making(LogKind)
        /// The log of any other stage.
        case other
        case deadLetters
    }

    package var name: String
    var role: Role
    /// The log that its stage reads; for dead letters, the log with the rejected events.
    var upstream: String?
    /// The log's own folder.
    package var directory: String
}

extension TracedLog {
    /// The existing logs of a pipeline, each after its upstream log.
    static func all(in place: String, logs: String? = nil) throws -> [TracedLog] {
        let folder = try LogPlace.folder(logs ?? place)
        let file =
            try LogPlace.isFile(place)
            ? LogPlace.pipeline(place) : RecordedLogs.recorded(in: folder)
        let found = all(of: file, in: folder)
        if found.isEmpty { throw ToolFailure(.noInput, try noLogsMessage(logs ?? place, folder)) }
        return found
    }

    /// The logs of a pipeline that exist in a folder.
    package static func all(of file: PipelineFile, in folder: String) -> [TracedLog] {
        file.stagesInOrder.flatMap { stage in
            logs(stage.logName, role(stage), upstream: file.upstream(of: stage)?.logName, folder)
        }.filter { LogPlace.isFile($0.directory + "/log.json") }
    }

    private static func role(_ stage: PipelineStage) -> Role {
        if stage.from == nil { return .source }
        return stage.command.isEmpty ? stage.writes.map(Role.making) ?? .other : .other
    }

    /// A stage's log and its log of dead letters.
    private static func logs(_ name: String, _ role: Role, upstream: String?, _ folder: String) -> [TracedLog] {
        let log = TracedLog(name: name, role: role, upstream: upstream, directory: "\(folder)/\(name)")
        let letters = name + LogPlace.deadLetters
        return [
            log, TracedLog(name: letters, role: .deadLetters, upstream: upstream, directory: "\(folder)/\(letters)"),
        ]
    }

    private static func noLogsMessage(_ place: String, _ folder: String) throws -> String {
        let others = try LogPlace.logs(in: place).map(LogPlace.name)
        if others.isEmpty { return try LogPlace.noLogsMessage(in: place) }
        return "\(folder) contains the logs \(others.joined(separator: ", ")), but they belong to no known pipeline; "
            + "name the pipeline file with -p"
    }
}
