import EventLog
import Inspect
import PipelineRuntime

/// What `belfry log verify` checks beside the logs themselves.
enum LogChecks {
    static let all: [any LogCheck & Sendable] = [
        UpstreamNoteCheck(), SettingsCheck(), ConsumerPositionsCheck(), SnapshotCheck(), IndexCheck(),
        InFlightJournalCheck(),
        CrashJournalCheck(),
    ]
}

extension VerifiedLog {
    fileprivate var isOfDeadLetters: Bool { name.hasSuffix(LogPlace.deadLetters) }

    /// The headers of its own snapshots that can be read.
    fileprivate func snapshots() throws(EventLogError) -> [SnapshotHeader] {
        try SnapshotStore(logDirectory: directory).list().compactMap(\.header).filter { $0.log == identity }
    }

    /// The folder of another log in the same place.
    fileprivate func sibling(_ name: String) -> String { directory + "/../" + name }

    fileprivate func problem(_ file: String, _ reason: String) -> VerifyReport.Problem {
        VerifyReport.Problem(file: "\(directory)/\(file)", offset: 0, sequence: 1, reason: reason)
    }
}

/// `upstream.json` may be missing in a source's log alone. A source's cursor names producers, any other log's the log
/// that it was made from; and so do its snapshots.
private struct UpstreamNoteCheck: LogCheck {
    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        if let note = try UpstreamNote.read(directory: log.directory) { return contradiction(of: note, log) }
        guard !log.isOfDeadLetters, let (upstream, witness) = try evidence(log) else { return [] }
        return [
            log.problem(
                "upstream.json",
                "it is missing, and the log was made from '\(upstream)', as \(witness) says: restore it from a copy, or "
                    + "start the stage, which writes it again")
        ]
    }

    private func contradiction(of note: UpstreamNote, _ log: VerifiedLog) -> [VerifyReport.Problem] {
        let read = log.cursor.positions.keys.sorted()
        guard !read.isEmpty, !read.contains(note.log) else { return [] }
        let names = read.joined(separator: ", ")
        return [log.problem("upstream.json", "it names log '\(note.log)', and the log's cursor tells of '\(names)'")]
    }

    private func evidence(_ log: VerifiedLog) throws(EventLogError) -> (upstream: String, witness: String)? {
        if let header = try log.snapshots().last(where: { $0.upstream != log.identity }) {
            return (header.cursor.positions.keys.first ?? "", "the snapshot at sequence \(header.sequence)")
        }
        let names = log.cursor.positions.keys.filter { !$0.contains("/") }
        guard log.name != RecordedLogs.standardNames.first, names.count == 1, let name = names.first else { return nil }
        let isLog = RecordedLogs.standardNames.contains(name) || LogPlace.isLog(log.sibling(name))
        return isLog ? (name, "its cursor") : nil
    }
}

/// Without the settings that a log was made under, it cannot be replayed.
private struct SettingsCheck: LogCheck {
    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        do throws(EventLogError) { _ = try SettingsHistory(logDirectory: log.directory) } catch {
            guard case .wrongSettings(let file, _, _) = error else { throw error }
            let reason = String(error.description.dropFirst(file.count + ", ".count))
            return [VerifyReport.Problem(file: file, offset: 0, sequence: 1, reason: reason)]
        }
        guard let witness = try witnessOfLoss(log) else { return [] }
        let cost = "for all of the log's past a replay takes the settings in the pipeline file"
        return [
            log.problem(SettingsFile.name, "it is missing, and \(witness): restore it from a copy; else \(cost)")
        ]
    }

    /// What shows that the log was written by a build that puts settings on record. Logs of earlier ones have none, nor
    /// have those of dead letters and of stages that are programs in another language.
    private func witnessOfLoss(_ log: VerifiedLog) throws(EventLogError) -> String? {
        guard !log.isOfDeadLetters, log.lastNow > .epoch, !hasSettings(log.directory) else { return nil }
        if let snapshot = try log.snapshots().last {
            return "a stage that takes snapshots, as the one at sequence \(snapshot.sequence), keeps one"
        }
        guard RecordedLogs.standardNames.contains(log.name) else { return nil }
        return RecordedLogs.standardNames.first { $0 != log.name && hasSettings(log.sibling($0)) }.map {
            "log \($0) has one"
        }
    }

    private func hasSettings(_ directory: String) -> Bool { LogPlace.isFile(SettingsFile.path(in: directory)) }
}

/// A stage passes a wrong snapshot over.
private struct SnapshotCheck: LogCheck {
    var isOfCache: Bool { true }

    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        let summary = try EventLogs.summary(directory: log.directory)
        return try SnapshotStore(logDirectory: log.directory).check(summary).map {
            VerifyReport.Problem(file: $0.file, offset: 0, sequence: log.lastSequence, reason: $0.reason)
        }
    }
}

/// An index is made again when it is wrong.
private struct IndexCheck: LogCheck {
    var isOfCache: Bool { true }

    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        guard LogPlace.isFolder(log.directory + "/index") else { return [] }
        return try LogIndex.verify(directory: log.directory, scheme: .trace).problems
    }
}
