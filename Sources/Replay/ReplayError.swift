/// Why logs cannot be replayed at all.
package enum ReplayError: Error, Hashable, Sendable {
    /// A small file beside a log is not what was written there.
    case unreadable(String, String)
    /// A log answers events that its upstream log does not hold.
    case ahead(log: String, cursor: UInt64, upstream: String, holds: UInt64)
    /// A log no longer begins with its first event, and no snapshot tells what came before.
    case trimmed(log: String, first: UInt64)
    /// Something beside a log tells of events after the last one that it holds.
    case lost(log: String, last: UInt64, path: String)
    /// All of a range is older than what the logs still hold.
    case dropped(log: String, first: UInt64)
    /// A range in which nothing was recorded.
    case beyond(String)
    /// A range that ends before it begins.
    case backwards
    /// A stage that the registry does not know.
    case unknownStage(String, kind: String)
    /// A program that does a stage's work does not do what it must.
    case worker(stage: String, String)
    /// A command for another world that the source would refuse, or that is about no subscription and no device.
    case badCommand(line: Int, String)
    /// What cannot be done with these stages.
    case unsupported(String)
}

extension ReplayError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path) is not what Belfry wrote there: \(reason)"
        case .ahead(let log, let cursor, let upstream, let holds):
            "\(log) answers \(upstream) up to \(cursor), which holds only \(holds) events; these logs do not belong "
                + "together, or \(upstream) has lost its end"
        case .trimmed(let log, let first):
            "\(log) begins at \(first), and no snapshot holds what came before; put the dropped segments back, or let "
                + "the stage take a snapshot (log: { snapshotBytes: ... } in the pipeline file) before more is dropped"
        case .lost(let log, let last, let path):
            "\(log) is missing what came after \(last): \(path) tells of more; put the segments back, or remove that file "
                + "to go by what is left"
        case .dropped(let log, let first): "all of that range is gone: \(log) begins at \(first)"
        case .beyond(let reason): reason
        case .backwards: "the range ends before it begins"
        case .unknownStage(let name, let kind): "stage \(name) is of kind \(kind), which this program does not know"
        case .worker(let stage, let reason): "\(stage): \(reason)"
        case .badCommand(let line, let reason): "line \(line): \(reason)"
        case .unsupported(let reason): reason
        }
    }
}
