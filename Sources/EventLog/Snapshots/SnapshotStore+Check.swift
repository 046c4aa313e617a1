extension SnapshotStore {
    /// A snapshot that no stage can use, or that its log does not bear out.
    package struct Problem: Hashable, Sendable {
        package var file: String
        package var reason: String
    }

    /// Reads every snapshot of a log, CRCs included, and holds it against the log.
    ///
    /// What it finds costs no event: a stage passes such snapshots over.
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
