import EventLog
import Inspect
import PipelineRuntime

/// The checks of `belfry log verify` for the files beside a log.
enum LogChecks {
    static let all: [any LogCheck & Sendable] = [
        UpstreamNoteCheck(), SettingsCheck(), ConsumerPositionsCheck(), SnapshotCheck(), IndexCheck(),
        InFlightJournalCheck(), CrashJournalCheck(),
    ]
}

extension VerifiedLog {
    fileprivate var isOfDeadLetters: Bool { name.hasSuffix(LogPlace.deadLetters) }

    /// The readable headers of the log's snapshots.
    fileprivate func snapshots() throws(EventLogError) -> [SnapshotHeader] {
        try SnapshotStore(logDirectory: directory).list().compactMap(\.header).filter { $0.log == identity }
    }

    /// The folder of another log of the pipeline.
    fileprivate func sibling(_ name: String) -> String { directory + "/../" + name }

    fileprivate func problem(_ file: String, _ reason: String) -> VerifyReport.Problem {
        VerifyReport.Problem(file: "\(directory)/\(file)", offset: 0, sequence: 1, reason: reason)
    }
}

/// Checks `upstream.json`, which only the log of a source, or of dead letters, may lack. The cursor of any other log,
/// and of its snapshots, names the upstream log.
private struct UpstreamNoteCheck: LogCheck {
    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        if let note = try UpstreamNote.read(directory: log.directory) { return contradiction(of: note, to: log) }
        guard !log.isOfDeadLetters, let (upstream, source) = try recordedUpstream(of: log) else { return [] }
        return [
            log.problem(
                "upstream.json",
                "missing, but the log was made from '\(upstream)' according to \(source): restore it from a copy, or start "
                    + "the stage, which writes it again")
        ]
    }

    private func contradiction(of note: UpstreamNote, to log: VerifiedLog) -> [VerifyReport.Problem] {
        let read = log.cursor.positions.keys.sorted()
        guard !read.isEmpty, !read.contains(note.log) else { return [] }
        let names = read.joined(separator: ", ")
        return [log.problem("upstream.json", "names log '\(note.log)', but the log's cursor names '\(names)'")]
    }

    /// The name of the upstream log in a snapshot's cursor or in the log's own cursor, and in which of them it was
    /// found.
    private func recordedUpstream(of log: VerifiedLog) throws(EventLogError) -> (upstream: String, source: String)? {
        if let header = try log.snapshots().last(where: { $0.upstream != log.identity }) {
            return (header.cursor.positions.keys.first ?? "", "the snapshot at sequence \(header.sequence)")
        }
        let names = log.cursor.positions.keys.filter { !$0.contains("/") }
        guard log.name != RecordedLogs.standardNames.first, names.count == 1, let name = names.first else { return nil }
        let isLog = RecordedLogs.standardNames.contains(name) || LogPlace.isLog(log.sibling(name))
        return isLog ? (name, "its cursor") : nil
    }
}

/// Checks the recorded settings, without which a log cannot be replayed exactly.
private struct SettingsCheck: LogCheck {
    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        do throws(EventLogError) { _ = try SettingsHistory(logDirectory: log.directory) } catch {
            guard case .wrongSettings(let file, _, _) = error else { throw error }
            let reason = String(error.description.dropFirst(file.count + ", ".count))
            return [VerifyReport.Problem(file: file, offset: 0, sequence: 1, reason: reason)]
        }
        guard let reason = try reasonToExpectSettings(of: log) else { return [] }
        return [
            log.problem(
                SettingsFile.name,
                "missing, but \(reason): restore it from a copy; otherwise a replay of the whole log uses the settings in "
                    + "the pipeline file")
        ]
    }

    /// Why the log should have recorded settings. Nil if it has them, or if nothing shows that it had any. Logs of dead
    /// letters, of plugin programs and of early versions have no recorded settings.
    private func reasonToExpectSettings(of log: VerifiedLog) throws(EventLogError) -> String? {
        guard !log.isOfDeadLetters, log.lastNow > .epoch, !hasSettings(log.directory) else { return nil }
        if let snapshot = try log.snapshots().last {
            return "the log has a snapshot, at sequence \(snapshot.sequence), and stages with snapshots record settings"
        }
        guard RecordedLogs.standardNames.contains(log.name) else { return nil }
        return RecordedLogs.standardNames.first { $0 != log.name && hasSettings(log.sibling($0)) }.map {
            "log \($0) has recorded settings"
        }
    }

    private func hasSettings(_ directory: String) -> Bool { LogPlace.isFile(SettingsFile.path(in: directory)) }
}

/// Checks snapshots. A stage skips an invalid snapshot.
private struct SnapshotCheck: LogCheck {
    var checksCache: Bool { true }

    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        let summary = try EventLogs.summary(directory: log.directory)
        return try SnapshotStore(logDirectory: log.directory).check(summary).map {
            VerifyReport.Problem(file: $0.file, offset: 0, sequence: log.lastSequence, reason: $0.reason)
        }
    }
}

/// Checks the index. The next command that uses the index rebuilds its invalid parts.
private struct IndexCheck: LogCheck {
    var checksCache: Bool { true }

    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        guard LogPlace.isFolder(log.directory + "/index") else { return [] }
        return try LogIndex.verify(directory: log.directory, scheme: .trace).problems
    }
}
