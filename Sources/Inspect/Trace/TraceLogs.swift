import EventLog
import JSON

/// A pipeline's logs, and the way to their events by key. Belongs to one thread at a time.
///
/// Each log's index is brought up to date when the log is asked for the first time; all answers are of that moment.
package final class TraceLogs {
    let logs: [TracedLog]
    private let usesIndexFiles: Bool
    private let progress: IndexProgress
    private var indexes: [String: LogIndex] = [:]

    /// - Parameters:
    ///   - place: A pipeline file, its data folder or a folder of logs.
    ///   - folder: Where the logs are instead.
    ///   - usesIndexFiles: False reads each log whole, and writes nothing.
    package convenience init(place: String, logs folder: String? = nil, usesIndexFiles: Bool = true) throws {
        self.init(try TracedLog.all(in: place, logs: folder), usesIndexFiles: usesIndexFiles)
    }

    package init(_ logs: [TracedLog], usesIndexFiles: Bool = true) {
        self.logs = logs
        self.usesIndexFiles = usesIndexFiles
        progress = IndexProgress()
    }

    func log(named name: String) -> TracedLog? { logs.first { $0.name == name } }
    func logs(as role: TracedLog.Role) -> [TracedLog] { logs.filter { $0.role == role } }

    /// The logs of the stages that read one log.
    func downstream(of name: String) -> [TracedLog] {
        logs.filter { $0.upstream == name && $0.role != .deadLetters }
    }

    /// The log whose positions matches call `change`.
    package var changes: TracedLog? {
        let read = logs.first { $0.role == .making(.matches) }?.upstream
        return read.flatMap(log(named:)) ?? logs(as: .source).first
    }

    func index(of log: TracedLog) throws -> LogIndex {
        if let index = indexes[log.name] { return index }
        let index = try LogIndex(directory: log.directory, scheme: .trace, usesFiles: usesIndexFiles)
        defer { progress.end() }
        try index.update(progress: progress.report(log.name))
        indexes[log.name] = index
        return index
    }

    /// The events of a log that have all of some keys, in their order or the newest first.
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

    /// One event; nil where the log has not come to it, or has no such event any more.
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
    /// A user's `device.*` events among the changes, in their order.
    func devices(of user: ExactText) throws -> [TraceEvent] {
        guard let changes else { return [] }
        return try events(.userState(user), in: changes) { $0.isDevice && $0.user == user }
    }
}
