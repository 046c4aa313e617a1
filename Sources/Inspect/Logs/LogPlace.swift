import EventLog
import Foundation
import PipelineKit
import StageTool

/// Finds logs by a path from the user: a pipeline file, its data folder, a folder of logs, or a log. A *place* is one
/// of the first three.
package enum LogPlace {
    /// The suffix of a log of dead letters: the dead letters of the log `matches` are in `matches.dead-letters`.
    package static let deadLetters = ".dead-letters"

    /// Whether a path is a file, or a folder that is not a log's own folder.
    static func isPlace(_ path: String) throws -> Bool {
        if isFile(path) { return true }
        return try isFolder(path) && !EventLogs.isLog(directory: path)
    }

    /// Whether a path is a folder with a `log.json`. Every log has this file, unless it is damaged.
    package static func isLog(_ path: String) -> Bool { isFile(path + "/log.json") }

    /// The folder that contains the logs of a place.
    ///
    /// - Throws: ``ToolFailure`` with 66 if there is no such file or folder, or if the file is an NDJSON file or not
    ///   readable; ``PipelineFileError`` if the pipeline file is invalid.
    package static func folder(_ path: String) throws -> String {
        try checkIsNotNDJSON(path)
        if isFile(path) {
            try PipelineArgument.check(path)
            return try pipeline(path).data + "/logs"
        }
        guard isFolder(path) else { throw missing(path) }
        return isFolder(path + "/logs") ? path + "/logs" : path
    }

    /// The pipeline file as this host runs it. An invalid setting of a stage does not matter for reading its log.
    ///
    /// - Throws: ``PipelineFileError`` if the pipeline file is invalid, or has no such host.
    package static func pipeline(_ path: String) throws(PipelineFileError) -> PipelineFile {
        try CheckedPipeline.ofThisHost(try PipelineFile.load(path: path, registry: .builtIns))
    }

    /// The logs' own folders in a place, sorted by name. See ``AbsentLogs`` for missing logs.
    package static func logs(in path: String) throws -> [String] { try folders(in: path).filter(isLog) }

    /// All folders in a place that may be logs, sorted by name.
    static func folders(in path: String) throws -> [String] {
        let folder = try folder(path)
        // A pipeline that never ran has no folder for its logs.
        if isFile(path), mode(folder) == nil { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }.sorted()
                .map { folder + "/" + $0 }.filter(isFolder)
        } catch {
            let isReadable = access(folder, R_OK | X_OK) == 0
            throw ToolFailure(
                .noInput,
                isReadable
                    ? "cannot list \(folder): \(error.localizedDescription)"
                    : InputSource.cannotReadMessage(folder, errno))
        }
    }

    /// The error message for a place that contains no logs.
    package static func noLogsMessage(in path: String) throws -> String {
        let folder = try folder(path)
        guard isFile(path) else { return "no logs in \(folder)" }
        return "no logs yet in \(folder): start the pipeline with `belfry up \(path)`"
    }

    /// The folder of one log.
    ///
    /// - Parameters:
    ///   - path: The log's name in the pipeline. Without a pipeline: the log's folder, or a place and the log's name,
    ///     such as `.belfry/quickstart/changes`.
    ///   - pipeline: The place that contains the log. Nil if `path` leads to the log.
    package static func log(_ path: String, pipeline: String?) throws -> String {
        guard let pipeline else { return try log(path, hint: "name its pipeline with -p FILE (--pipeline)") }
        let folder = try folder(pipeline)
        return try existing(folder + "/" + path, named: path, in: folder)
    }

    /// - Parameter hint: What to do if the path is a name and the current folder contains no such log.
    private static func log(_ path: String, hint: String) throws -> String {
        if try isFolder(path) && EventLogs.isLog(directory: path) { return path }
        try checkIsNotNDJSON(path)
        let parent = NSString(string: path).deletingLastPathComponent
        let (place, name) = (parent.isEmpty ? "." : parent, NSString(string: path).lastPathComponent)
        guard !name.isEmpty, isFile(place) || isFolder(place) else { throw missing(path) }
        let folder = try folder(place)
        do { return try existing(folder + "/" + name, named: name, in: folder) } catch let failure as ToolFailure {
            guard !path.contains("/") else { throw failure }
            throw ToolFailure(failure.status, "\(failure.message); \(hint)")
        }
    }

    /// The folder of a log whose `log.json` may be missing.
    package static func folder(ofLog path: String, pipeline: String?) throws -> String {
        let candidate = try pipeline.map { try folder($0) + "/" + path } ?? path
        if isFolder(candidate), try isLogOrLacksManifest(candidate) { return candidate }
        if pipeline == nil, try isPlace(path), case let names = try logs(in: path).map(name), !names.isEmpty {
            throw ToolFailure(
                .usage,
                "\(path) is not a log itself; with -p \(path), name one of \(names.joined(separator: ", "))")
        }
        return try log(path, pipeline: pipeline)
    }

    private static func isLogOrLacksManifest(_ directory: String) throws(EventLogError) -> Bool {
        do throws(EventLogError) { return try EventLogs.isLog(directory: directory) } catch {
            guard case .withoutManifest = error else { throw error }
            return true
        }
    }

    /// The log at a path, or all logs in a place.
    ///
    /// - Throws: ``ToolFailure`` with 66 if there is no log.
    package static func oneOrAll(_ path: String) throws -> LogChoice {
        guard try isPlace(path) else { return try LogChoice(logs: [log(path, hint: placeHint)], absent: []) }
        let choice = try LogChoice(logs: logs(in: path), absent: AbsentLogs.find(in: path))
        guard !choice.logs.isEmpty || !choice.absent.isEmpty else {
            throw ToolFailure(.noInput, try noLogsMessage(in: path))
        }
        return choice
    }

    /// The size of a log's segments.
    package static func bytes(of directory: String) throws -> UInt64 {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".log") }
            .reduce(0) { sum, name in
                var status = stat()
                return stat(directory + "/" + name, &status) == 0 ? sum + UInt64(status.st_size) : sum
            }
    }

    private static func existing(_ path: String, named name: String, in folder: String) throws -> String {
        if try isFolder(path) && EventLogs.isLog(directory: path) { return path }
        let names = isFolder(folder) ? try logs(in: folder).map(LogPlace.name) : []
        throw ToolFailure(
            .noInput,
            names.isEmpty
                ? "there are no logs in \(folder) yet: start the pipeline with `belfry up`, or name another folder of logs"
                : "there is no log \(name) in \(folder); there are: \(names.joined(separator: ", "))")
    }

    /// A log's name, from its folder.
    package static func name(ofLogAt path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    /// Rejects NDJSON files. They contain commands, like the files in `Pipelines/quickstart.scenarios`, or exported
    /// events.
    private static func checkIsNotNDJSON(_ path: String) throws {
        guard isFile(path), path.hasSuffix(".ndjson") else { return }
        throw ToolFailure(
            .noInput,
            "\(path) is an NDJSON file, not a log. Name a folder of logs instead. To make one from commands, use "
                + "`belfry run PIPELINE \(path) --logs FOLDER`; from an export, use `belfry log import \(path) --to FOLDER`"
        )
    }

    private static let placeHint = "name a pipeline file, its data folder, a folder of logs, or a log"

    private static func missing(_ path: String) -> ToolFailure {
        ToolFailure(.noInput, "there is no \(path); \(placeHint)")
    }

    package static func isFolder(_ path: String) -> Bool { mode(path) == S_IFDIR }
    package static func isFile(_ path: String) -> Bool { mode(path) == S_IFREG }

    private static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
}
