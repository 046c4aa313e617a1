import EventLog

/// Checks that `consumers.json` is intact. If the file is damaged, its stage removes nothing from the log.
package struct ConsumerPositionsCheck: LogCheck {
    package init() {}

    package func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        do { _ = try ConsumerPositions(logDirectory: log.directory) } catch {
            let file = log.directory + "/" + ConsumerPositions.fileName
            let reason = "\(error)".replacing(file + " ", with: "it ", maxReplacements: 1)
            return [VerifyReport.Problem(file: file, offset: 0, sequence: 1, reason: reason)]
        }
        return []
    }
}
