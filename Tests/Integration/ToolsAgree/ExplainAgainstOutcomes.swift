import JSON
import PipelineKit
import TestSupport
import Testing

@testable import Inspect

/// Asks `belfry explain` whether a change of a record was pushed to a registered device. Compares the answers with the
/// log of outcomes.
struct ExplainAgainstOutcomes {
    private struct Question: Hashable {
        let change: UInt64
        let user, device: String
    }

    private let run: LoggedRun
    private let finder: any EventFinder
    private var outcomes: [Question: Set<String>] = [:]

    init(_ run: LoggedRun, _ finder: any EventFinder = LogScan()) throws {
        (self.run, self.finder) = (run, finder)
        for event in try run.events(of: run.log(.outcomes)) where event.type == "outcome" {
            for change in event.causes {
                let question = Question(change: change, user: event.text("user"), device: event.text("device"))
                outcomes[question, default: []].insert(event.text("outcome"))
            }
        }
    }

    /// - Parameter oneIn: On average, one of this many questions is asked. With 1, all questions are asked.
    func check(oneIn: Int, _ random: inout Seeded) throws {
        let changes = try run.events(of: run.log(.changes))
        let devices = Set(
            changes.filter { $0.type == "device.register" }.map { [$0.text("user"), $0.text("device")] })
        for change in changes where change.type.hasPrefix("record.") {
            for device in devices.sorted(by: { $0.lexicographicallyPrecedes($1) }) where random.isOneIn(oneIn) {
                try check(Question(change: change.sequence, user: device[0], device: device[1]))
            }
        }
    }

    private func check(_ question: Question) throws {
        let asked = "--change \(question.change) --user \(question.user) --device \(question.device)"
        let what: Comment = "\(run.name): explain \(asked)"
        let answer = try answer(question)
        let recorded = outcomes[question] ?? []
        #expect(answer.isPushed == recorded.contains("accepted"), what)
        let reason = answer.devices.first?.reason.code ?? answer.reason.code
        if answer.isPushed { #expect(reason == .transportAccepted, what) }
        for outcome in recorded.subtracting(["accepted", "no_device"]) where !answer.isPushed {
            let codes = Self.codes[outcome, default: []]
            #expect(answer.explanations.contains { $0.contains(codes) }, "\(what): \(outcome)")
        }
        #expect(
            !answer.explanations.contains { $0.contains(unexpected) }, "\(what): \(answer.verdict) (\(reason.rawValue))"
        )
    }

    /// Codes that no explanation of a finished run may have. `stageDropped` is allowed in a run with a plugin, because
    /// plugins may drop events.
    private var unexpected: [ExplanationCode] {
        let hasNoPlugin = run.file.stages.allSatisfy(\.command.isEmpty)
        return [.replayDiffers, .outcomePending, .notificationHeld] + (hasNoPlugin ? [.stageDropped] : [])
    }

    private func answer(_ question: Question) throws -> ExplainedAnswer {
        let logs = run.recorded
        let change = try ExplainedChange(question.change, in: logs)
        let subject = try AskedSubject(user: question.user, device: question.device, subscriptionID: nil)
            .resolve(for: change, in: logs, finder)
        return try ExplainedAnswer(change, subject, in: logs, finder)
    }

    /// The codes that `explain` uses for each outcome except `accepted` and `no_device`.
    private static let codes: [String: [ExplanationCode]] = [
        "failed": [.transportFailed], "unregistered": [.transportUnregistered, .deviceUnregistered],
        "expired": [.pushExpired], "superseded": [.pushSuperseded], "excluded_origin": [.originExcluded],
        "unknown_transport": [.transportUnknown],
    ]
}

extension Explanation {
    /// Whether the explanation or one of its parts has one of these codes.
    fileprivate func contains(_ codes: [ExplanationCode]) -> Bool {
        codes.contains(code) || parts.contains { $0.contains(codes) }
    }
}
