import JSON
import PipelineKit
import StageTool
import Time

/// Which dead letters are wanted: those that satisfy every option that is given, and of one that is given more than
/// once, any.
package struct LetterFilter: Sendable {
    package var stage: [String] = []
    /// An outcome, or a rejection's.
    package var code: [String] = []
    /// Texts in the reason, in whatever case; a status counts too.
    package var reason: [String] = []
    /// Whom a letter is for, or about a record of whom.
    package var user: [String] = []
    package var device: [String] = []
    package var container: [String] = []
    /// Of the device: the app's bundle ID.
    package var topic: [String] = []
    /// Of the source's log.
    package var from: LogPosition?
    package var until: LogPosition?

    package init() {}

    /// Refuses codes that no letter can have. A stage has words of its own for what it rejects, so one that is like none of
    /// these is believed.
    ///
    /// - Parameter present: The codes of all letters there are.
    func checkCodes(_ present: Set<String>) throws {
        let known = Set(OutcomeCode.allCases.filter(\.isDeadLetter).map(\.rawValue)).union(present)
        for code in code where !known.contains(code) {
            let near = Spelling.suggestion(for: code, among: known.sorted())
            guard near != nil || !code.contains(".") else { continue }
            throw ToolFailure(
                .usage,
                "--code \(code): no dead letter has it; \(near.map { $0 + " " } ?? "")there are: "
                    + known.sorted().joined(separator: ", "))
        }
    }

    /// As far as the letter's own event tells.
    func mayAccept(_ letter: Letter) -> Bool {
        Self.isOneOf(stage, letter.stage) && Self.isOneOf(code, letter.code) && hasReason(letter)
            && Self.isOneOf(user, letter.user?.string) && Self.isOneOf(device, letter.device?.string)
    }

    /// With what other logs tell of it.
    func accepts(_ letter: Letter) -> Bool {
        mayAccept(letter) && Self.isOneOf(container, letter.container?.string)
            && Self.isOneOf(topic, letter.topic?.string)
    }

    private func hasReason(_ letter: Letter) -> Bool {
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

/// A stretch of a pipeline's past, by the changes that letters came of; by the time of those that came of none.
struct LetterRange {
    private struct End {
        let point: LogPoint
        /// Of the change.
        let time: Instant
    }

    private let from, until: End?

    /// - Parameter changes: The source's log.
    init(from: LogPosition?, until: LogPosition?, in changes: String) throws {
        self.from = try from.map { try Self.end($0, in: changes, absent: .distantFuture) }
        self.until = try until.map { try Self.end($0, in: changes, absent: .distantFuture) }
    }

    private static func end(_ position: LogPosition, in changes: String, absent: Instant) throws -> End {
        let point = try position.point(in: changes)
        switch point {
        case .time(let time): return End(point: point, time: time)
        case .sequence(let sequence):
            return End(point: point, time: try LogScan.event(sequence, in: changes)?.now ?? absent)
        }
    }

    func contains(_ letter: Letter) -> Bool {
        if let from, Self.isBefore(letter, from) { return false }
        if let until, Self.isBehind(letter, until) { return false }
        return true
    }

    private static func isBefore(_ letter: Letter, _ end: End) -> Bool {
        if case .sequence(let sequence) = end.point, let change = letter.change { return change < sequence }
        return letter.time < end.time
    }

    private static func isBehind(_ letter: Letter, _ end: End) -> Bool {
        if case .sequence(let sequence) = end.point, let change = letter.change { return change > sequence }
        return letter.time > end.time
    }
}
