extension SnapshotStore {
    /// A snapshot that cannot be read, or that does not fit its log.
    package struct Problem: Hashable, Sendable {
        package var file: String
        package var reason: String
    }

    /// Reads every snapshot of a log, checks its CRCs, and compares it with the log.
    ///
    /// A problem loses no events, because stages skip such snapshots.
    package func check(_ log: LogSummary) throws(EventLogError) -> [Problem] {
        var problems: [Problem] = []
        for file in try list() {
            if let reason = SnapshotStore.problem(with: file, of: log) {
                problems.append(Problem(file: file.path, reason: reason))
            }
        }
        return problems
    }

    private static func problem(with file: SnapshotFile, of log: LogSummary) -> String? {
        do throws(SnapshotFault) {
            guard let header = try read(file.path, where: { _ in true })?.header else { return nil }
            let fit = SnapshotFit(
                stage: header.stage, version: header.version, log: log.identity, upstream: header.upstream,
                lastSequence: log.lastSequence)
            return fit.objection(to: header)
        } catch { return error.reason }
    }
}
