import BuiltIns
import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import StageTool

/// The logs that a command works on, and an error for each missing log and for each log whose beginning is missing.
package struct LogChoice {
    /// The logs' own folders, sorted by name.
    package var logs: [String]
    /// An error for each log that is missing or has no `log.json`.
    package var absent: [ToolFailure]

    /// An error for each log whose beginning is missing.
    var gaps: [ToolFailure]

    init(logs: [String], absent: [ToolFailure]) throws {
        (self.logs, self.absent) = (logs, absent)
        gaps = try logs.compactMap(AbsentLogs.gap)
    }

    /// Reports missing logs. A command calls this after it has processed all existing logs.
    ///
    /// - Throws: ``ToolFailure`` that names each missing log and each log whose beginning is missing.
    package func finish() throws { try AbsentLogs.check(absent + gaps) }

    /// The logs. For commands that cannot answer if a log or the beginning of a log is missing.
    ///
    /// - Throws: The same errors as ``finish()``.
    package func completeLogs() throws -> [String] {
        try finish()
        return logs
    }
}

/// Finds logs that a place should contain but does not, so that no command mistakes the remaining logs for all logs.
package enum AbsentLogs {
    /// - Throws: ``ToolFailure`` with 66 if a log is missing, with 65 if a log has no `log.json`.
    package static func check(_ place: String) throws { try check(find(in: place)) }

    /// Reports logs whose beginning is missing. A command calls this at its end if it answers from the events that are
    /// there.
    ///
    /// - Throws: ``ToolFailure`` with 65 if the beginning of a log is missing.
    package static func checkGaps(in place: String) throws { try check(LogPlace.logs(in: place).compactMap(gap)) }

    /// The error for a log whose beginning is missing; nil if the beginning is there, or if retention removed it.
    package static func gap(ofLogAt directory: String) throws -> ToolFailure? {
        guard let range = try EventLogs.missingStart(directory: directory) else { return nil }
        // Repair cannot help a log without segments.
        let other = range.upperBound == .max ? "" : ", or see 'belfry log repair \(directory)'"
        return ToolFailure(
            .badData,
            "log \(LogPlace.name(ofLogAt: directory)): \(EventLogs.reason(forMissing: range)); restore the segments from a "
                + "copy\(other)")
    }

    package static func check(_ absent: [ToolFailure]) throws {
        guard let first = absent.first else { return }
        throw ToolFailure(first.status, absent.map(\.message).joined(separator: "\n"))
    }

    /// An error for each log that is missing or has no `log.json`. Empty if the place contains no log at all: then the
    /// pipeline never ran.
    ///
    /// - Parameter pipeline: The pipeline file, which names the logs. Nil if `place` is this file, or if no file is
    ///   known.
    package static func find(in place: String, of pipeline: String? = nil) throws -> [ToolFailure] {
        var (present, damaged) = ([String](), [ToolFailure]())
        for directory in try LogPlace.folders(in: place) {
            let name = LogPlace.name(ofLogAt: directory)
            do throws(EventLogError) {
                if try EventLogs.isLog(directory: directory) { present.append(name) }
            } catch {
                present.append(name)
                damaged.append(ToolFailure(ToolFailure.status(of: error), "log \(name): \(error)"))
            }
        }
        guard !present.isEmpty else { return [] }
        return try missing(from: place, of: pipeline ?? place, present) + damaged
    }

    private static func missing(
        from place: String, of pipeline: String, _ present: [String]
    ) throws -> [ToolFailure] {
        let folder = try LogPlace.folder(place)
        guard LogPlace.isFile(pipeline) else { return try missing(fromFolder: folder, present) }
        let file = try LogPlace.pipeline(pipeline)
        // The folder of a host has only the logs of its own stages.
        let stages = LogPlace.isFile(place) ? file.stagesOfHost : file.stagesInOrder
        return stages.filter { !present.contains($0.logName) }.map { stage in
            missing(stage.logName, "although stage \(stage.name) of \(pipeline) writes it", folder)
        }
    }

    /// Without a pipeline file, a log counts as missing if another file proves that it existed: its dead letters, the
    /// `upstream.json` of a log that was made from it, or the `consumers.json` of the log before it. Only the logs of
    /// the built-in stages have a known order. The `consumers.json` of the changes log is not used.
    private static func missing(fromFolder folder: String, _ present: [String]) throws -> [ToolFailure] {
        var (reasons, read) = ([String: String](), Set<String>())
        for name in present {
            let stage = name.hasSuffix(LogPlace.deadLetters) ? String(name.dropLast(LogPlace.deadLetters.count)) : nil
            if let stage { reasons[stage] = "although its dead letters are there" }
            guard let upstream = try upstream(ofLogAt: folder + "/" + name) else { continue }
            reasons[upstream] = reasons[upstream] ?? "although log \(name) was made from it"
            if stage == nil { read.insert(upstream) }
        }
        let begun = RecordedLogs.standardNames.prefix { present.contains($0) }
        let later = RecordedLogs.standardNames.dropFirst(begun.count)
        if begun.count > 1, let last = begun.last, let next = later.first, !read.contains(last), reasons[next] == nil {
            if let consumersFile = try consumersFile(ofLogAt: folder + "/" + last) {
                reasons[next] =
                    "although it was made from \(last) according to \(consumersFile) (if the pipeline has no such log, "
                    + "name the pipeline file)"
            } else if !present.contains(where: later.contains) {
                StandardError.write(
                    "note: \(folder) contains no \(later.joined(separator: ", ")); it is assumed that their stages never ran"
                )
            }
        }
        return reasons.filter { !present.contains($0.key) }.sorted { $0.key < $1.key }
            .map { missing($0.key, $0.value, folder) }
    }

    /// The path of the file that records which stages read a log. Nil if there is no such file, or if it names no
    /// stage.
    private static func consumersFile(ofLogAt directory: String) throws -> String? {
        let path = directory + "/consumers.json"
        guard LogPlace.isFile(path) else { return nil }
        let text: String
        do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw ToolFailure(.inputOutput, "cannot read \(path): \(error.localizedDescription)")
        }
        return text.contains("\"name\":") ? path : nil
    }

    private static func upstream(ofLogAt directory: String) throws(EventLogError) -> String? {
        // A damaged note is left to `belfry log verify`.
        do throws(EventLogError) { return try UpstreamNote.read(directory: directory)?.log } catch .damaged {
            return nil
        }
    }

    private static func missing(_ name: String, _ what: String, _ folder: String) -> ToolFailure {
        ToolFailure(
            .noInput,
            "log \(name) is missing, \(what): there is no \(folder)/\(name); restore it from a copy, start its stage if "
                + "it never ran, or name one log that is there")
    }
}
