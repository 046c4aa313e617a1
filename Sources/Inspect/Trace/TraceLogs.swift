import EventLog
import JSON

/// Finds events in a pipeline's logs by key. Two threads must not use it at the same time.
///
/// A log is indexed when it is first used. Events that are appended later are not found.
package final class TraceLogs {
    let logs: [TracedLog]
    private let indexes: LogIndexes

    /// - Parameters:
    ///   - place: A pipeline file, its data folder or a folder of logs.
    ///   - folder: The folder of the logs, if it differs from the folder of `place`.
    ///   - usesIndexFiles: False to ignore index files and to make the indexes in memory.
    package convenience init(place: String, logs folder: String? = nil, usesIndexFiles: Bool = true) throws {
        self.init(try TracedLog.all(in: place, logs: folder), usesIndexFiles: usesIndexFiles)
    }

    package init(_ logs: [TracedLog], usesIndexFiles: Bool = true) {
        self.logs = logs
        indexes = LogIndexes(usesFiles: usesIndexFiles)
    }

    func log(named name: String) -> TracedLog? { logs.first { $0.name == name } }
    func logs(as role: TracedLog.Role) -> [TracedLog] { logs.filter { $0.role == role } }

    /// The logs of the stages that read one log.
    func downstream(of name: String) -> [TracedLog] {
        logs.filter { $0.upstream == name && $0.role != .deadLetters }
    }

    /// The log that match reads: the `change` of a match is a sequence in it. If this log or the log of match does not
    /// exist, the log of the first stage.
    package var changes: TracedLog? {
        let read = logs.first { $0.role == .making(.matches) }?.upstream
        return read.flatMap(log(named:)) ?? logs(as: .source).first
    }

    func index(of log: TracedLog) throws -> LogIndex { try indexes.index(of: log.directory) }

    /// The events of a log that have all these keys, in the order of the log or the newest first. Another key may have
    /// the same hash, so check the events that were found, or check them in `isWanted`.
    func events(
        _ keys: TraceKey..., in log: TracedLog, range: ClosedRange<UInt64> = 1...UInt64.max, newestFirst: Bool = false,
        limit: Int = .max, where isWanted: (EventFacts) -> Bool = { _ in true }
    ) throws -> [TraceEvent] {
        var events: [TraceEvent] = []
        guard limit > 0 else { return [] }
        try index(of: log).find(keys.map(\.hash), in: range, newestFirst: newestFirst) { found in
            let event = TraceEvent(found, log: log.name)
            if isWanted(event.facts) { events.append(event) }
            return events.count < limit
        }
        return events
    }

    /// Nil if the log does not contain the event yet, or any more.
    func event(at sequence: UInt64, in log: TracedLog) throws -> TraceEvent? {
        let index = try index(of: log)
        guard sequence >= index.firstSequence else { return nil }
        return try index.event(at: sequence).map { TraceEvent($0, log: log.name) }
    }

    package func event(at place: EventPlace) throws -> TraceEvent? {
        try log(named: place.log).flatMap { try event(at: place.sequence, in: $0) }
    }
}

extension TraceLogs {
    /// A user's `device.*` events among the changes, in the order of the log.
    func deviceEvents(of user: ExactText) throws -> [TraceEvent] {
        guard let changes else { return [] }
        return try events(TraceKey(.userState, user), in: changes) { $0.isDevice && $0.user == user }
    }
}
