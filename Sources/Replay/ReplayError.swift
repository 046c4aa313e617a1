/// Why logs cannot be replayed.
package enum ReplayError: Error, Hashable, Sendable {
    /// The settings that a replay sent to the program of a stage are not a JSON object.
    case unreadable(String, String)
    /// A snapshot that the replay was about to restore is gone.
    case snapshotDeleted(log: String, at: UInt64)
    /// A log's cursor is after the end of its upstream log.
    case ahead(log: String, cursor: UInt64, upstream: String, last: UInt64)
    /// A log's first events are gone, and no snapshot replaces them.
    case trimmed(log: String, first: UInt64)
    /// A file beside a log shows that the log's last events are missing.
    case lost(log: String, last: UInt64, path: String)
    /// Every event of the range is gone: the log begins later.
    case dropped(log: String, first: UInt64)
    /// The log holds no event in the range.
    case beyond(String)
    /// The range ends before it begins.
    case backwards(from: String, until: String)
    /// The registry has no stage of this kind.
    case unknownStage(String, kind: String)
    /// A stage's own program, or a program that replaces a stage, failed or broke the protocol.
    case worker(stage: String, String)
    /// A what-if command that the source rejects, or that names neither a subscription nor a device.
    case badCommand(line: Int, String)
    /// The request does not fit these stages.
    case unsupported(String)
}

extension ReplayError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadable(let name, let reason): "\(name) cannot be read: \(reason)"
        case .snapshotDeleted(let log, let position):
            "\(log): the snapshot after input event \(position) was deleted during the replay; run the replay again"
        case .ahead(let log, let cursor, let upstream, let last):
            "\(log) was made from \(upstream) up to event \(cursor), but \(upstream) ends at event \(last); either "
                + "these logs do not belong together, or \(upstream) has lost its last events"
        case .trimmed(let log, let first):
            "\(log) begins at \(first), and no snapshot replaces the events before it; put the dropped segments back, "
                + "or have the stage take snapshots (log: { snapshotBytes: ... } in the pipeline file) before more "
                + "segments are dropped"
        case .lost(let log, let last, let path):
            "\(log) has lost its events after \(last): \(path) shows that there were more; put the segments back, "
                + "or remove that file to replay the events that are left"
        case .dropped(let log, let first): "every event of the range is gone: \(log) begins at \(first)"
        case .beyond(let reason): reason
        case .backwards(let from, let until): "the range begins at \(from) but ends at \(until), which is earlier"
        case .unknownStage(let name, let kind): "stage \(name) is of kind \(kind), which this program does not have"
        case .worker(let stage, let reason): "\(stage): \(reason)"
        case .badCommand(let line, let reason): "line \(line): \(reason)"
        case .unsupported(let reason): reason
        }
    }
}
