import EventLog
import JSON

/// Finds events through the index beside each log, which it brings up to date first. Belongs to one thread at a time.
package final class IndexFinder: EventFinder {
    private let progress = IndexProgress()
    private var indexes: [String: LogIndex] = [:]

    package init() {}

    package func events(
        in log: String, from first: UInt64, through last: UInt64, naming names: [SoughtName],
        _ body: (LogScan.Event) throws -> Bool
    ) throws {
        guard first <= last else { return }
        guard !names.isEmpty else {
            return try LogScan().events(in: log, from: first, through: last, naming: names, body)
        }
        var failure: (any Error)?
        try index(of: log).find(names.map(\.key.hash), in: max(first, 1)...last) { event in
            do {
                return try event.withJSON { json in
                    try event.line.withUnsafeBytes { line in
                        try body(
                            LogScan.Event(
                                sequence: event.sequence, now: event.now, json: json, line: line, cursor: event.cursor))
                    }
                }
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }

    private func index(of log: String) throws -> LogIndex {
        if let index = indexes[log] { return index }
        let index = try LogIndex(directory: log, scheme: .trace)
        defer { progress.end() }
        try index.update(progress: progress.report(LogPlace.name(ofLogAt: log)))
        indexes[log] = index
        return index
    }
}

extension SoughtName {
    fileprivate var key: TraceKey {
        switch self {
        case .user(let name): .userState(name)
        case .device(let name): .deviceState(name)
        case .receiver(let name): .user(name)
        case .subscription(let id): .subscription(id)
        case .userSubscription(let user, let id): .userSubscription(user: user, id)
        case .record(let name): .record(name)
        case .token(let token): .token(token)
        }
    }
}
