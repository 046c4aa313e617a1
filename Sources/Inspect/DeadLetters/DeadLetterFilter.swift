import EventLog
import JSON
import PipelineKit
import StageTool
import Time

/// Selects dead letters: a letter must match at least one value of each member that is not empty.
package struct DeadLetterFilter: Sendable {
    package var stage: [String] = []
    /// Codes of outcomes or rejections.
    package var code: [String] = []
    /// Each value is a status, or a part of the reason. The comparison ignores upper and lower case.
    package var reason: [String] = []
    /// The users of pushes and rejected events, and the owners of rejected records.
    package var user: [String] = []
    package var device: [String] = []
    package var container: [String] = []
    /// Bundle IDs of the devices' apps.
    package var topic: [String] = []
    /// The first position in the changes log; nil: no limit. See ``DeadLetterRange``.
    package var from: LogPosition?
    /// The last position in the changes log; nil: no limit.
    package var until: LogPosition?

    package init() {}

    /// Rejects unknown codes. The known codes are the codes of the letters in the logs, and the codes of outcomes that
    /// are dead letters. An unknown code with a dot may be the code of a stage's rejection, so it is an error only if
    /// it looks like a misspelling of a known code.
    ///
    /// - Parameter found: The codes of all letters in the logs.
    func checkCodes(_ found: Set<String>) throws {
        let known = Set(OutcomeCode.allCases.filter(\.isDeadLetter).map(\.rawValue)).union(found)
        for code in code where !known.contains(code) {
            let near = Spelling.suggestion(for: code, among: known.sorted())
            guard near != nil || !code.contains(".") else { continue }
            throw ToolFailure(
                .usage,
                "--code \(code): no dead letter has this code; \(near.map { $0 + " " } ?? "")possible codes: "
                    + known.sorted().joined(separator: ", "))
        }
    }

    /// Whether the filter may select the letter. Compares only what is known before other logs are read.
    func mayAccept(_ letter: DeadLetter) -> Bool {
        Self.isOneOf(stage, letter.stage) && Self.isOneOf(code, letter.code) && hasReason(letter)
            && Self.isOneOf(user, letter.user?.string) && Self.isOneOf(device, letter.device?.string)
    }

    /// Whether the filter, apart from ``from`` and ``until``, selects a letter that ``DeadLetters`` has completed from
    /// other logs.
    func accepts(_ letter: DeadLetter) -> Bool {
        mayAccept(letter) && Self.isOneOf(container, letter.container?.string)
            && Self.isOneOf(topic, letter.topic?.string)
    }

    private func hasReason(_ letter: DeadLetter) -> Bool {
        reason.isEmpty
            || reason.contains { wanted in
                letter.reason.lowercased().contains(wanted.lowercased()) || letter.status.map { "\($0)" } == wanted
            }
    }

    private static func isOneOf(_ wanted: [String], _ value: String?) -> Bool {
        guard !wanted.isEmpty else { return true }
        guard let value else { return false }
        return wanted.contains { $0.utf8.elementsEqual(value.utf8) }
    }
}

/// Limits letters by the sequence of their newest change. If the limit is a time, or if ``DeadLetter/change`` is nil,
/// compares the letter's time with the time of the limit.
struct DeadLetterRange {
    private struct End {
        let point: LogPoint
        let time: Instant
    }

    private let from, until: End?

    init(from: LogPosition?, until: LogPosition?, in changes: String) throws {
        self.from = try from.map { try Self.end($0, in: changes) }
        self.until = try until.map { try Self.end($0, in: changes) }
    }

    private static func end(_ position: LogPosition, in changes: String) throws -> End {
        let point = try position.point(in: changes)
        switch point {
        case .time(let time): return End(point: point, time: time)
        case .sequence(let sequence):
            return End(point: point, time: try time(of: sequence, in: changes))
        }
    }

    /// The time of a change. A change that was removed has the epoch, because it is older than all changes in the log.
    /// A change that the log does not contain yet has the distant future.
    private static func time(of sequence: UInt64, in changes: String) throws -> Instant {
        if let event = try LogScan.event(sequence, in: changes) { return event.now }
        return try sequence < EventLogs.summary(directory: changes).firstSequence ? .epoch : .distantFuture
    }

    func contains(_ letter: DeadLetter) -> Bool {
        (from.map { Self.order(letter, $0) >= 0 } ?? true) && (until.map { Self.order(letter, $0) <= 0 } ?? true)
    }

    /// Negative if the letter is before the limit, 0 if it is at the limit, positive if it is after the limit.
    private static func order(_ letter: DeadLetter, _ end: End) -> Int {
        if case .sequence(let sequence) = end.point, let change = letter.change {
            return change < sequence ? -1 : change > sequence ? 1 : 0
        }
        return letter.time < end.time ? -1 : letter.time > end.time ? 1 : 0
    }
}
