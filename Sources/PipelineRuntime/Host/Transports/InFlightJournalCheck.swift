import EventLog

/// Checks that the files of an ``InFlightJournalRecord`` are intact.
package struct InFlightJournalCheck: LogCheck {
    /// A running stage may be writing the files, so a torn file is read up to this many times.
    private static let triesMax = 3

    package init() {}

    /// True, because no event depends on the files, and a crash may tear one of them.
    package var checksCache: Bool { true }

    package func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        let files = InFlightJournalFiles(logDirectory: log.directory, of: log.identity, calls: FileCalls())
        return InFlightJournalFiles.names.map { "\(log.directory)/\($0)" }.compactMap { path in
            reason(path, files).map {
                VerifyReport.Problem(file: path, offset: 0, sequence: log.lastSequence, reason: $0)
            }
        }
    }

    private func reason(_ path: String, _ files: InFlightJournalFiles) -> String? {
        var reading = files.read(path)
        for _ in 1..<Self.triesMax where reading == .torn { reading = files.read(path) }
        let cost = "deliver may mark all unfinished pushes with `repeat_possible`"
        return switch reading {
        case .torn: "the record of pushes in flight is torn or damaged: \(cost)"
        case .foreign: "this file is unreadable or damaged, or belongs to another log: \(cost)"
        case .record, nil: nil
        }
    }
}
