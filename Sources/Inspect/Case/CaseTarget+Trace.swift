import Events
import JSON
import StageTool

extension CaseTarget {
    /// The only outcome in a trace, or the change that was not pushed to a user.
    ///
    /// - Throws: ``ToolFailure`` with 64 if there are several outcomes, or if there is no outcome and the change or the
    ///   user is missing.
    package init(_ events: [TraceEvent], _ graph: TraceGraph, user: ExactText?, device: ExactText?) throws {
        let outcomes = CaseTarget.outcomes(graph, user, device)
        if let only = outcomes.first, outcomes.count == 1 {
            self = .outcome(only.sequence, log: only.place.log)
        } else if outcomes.isEmpty, let change = events.first(where: \.facts.isChange), let user {
            self = .notPushed(change: change.sequence, user: user, device: device)
        } else {
            throw outcomes.isEmpty ? CaseTarget.none(device) : CaseTarget.several(outcomes)
        }
    }

    private static func outcomes(_ graph: TraceGraph, _ user: ExactText?, _ device: ExactText?) -> [TraceEvent] {
        var found: [TraceEvent] = []
        for node in graph.nodes.values where node.event.type == EventName.outcome.description {
            let facts = node.event.facts
            guard user == nil || facts.user == user, device == nil || facts.device == device else { continue }
            found.append(node.event)
        }
        // Outcomes of redrives are left out if the trace also contains an outcome of an original push.
        let originals = found.filter { $0.facts.redriveOf == nil }
        return (originals.isEmpty ? found : originals).sorted { $0.sequence < $1.sequence }
    }

    private static let listedMax = 6

    private static func several(_ outcomes: [TraceEvent]) -> ToolFailure {
        let some = outcomes.prefix(listedMax).map { event in
            "\(event.place) (\(event.facts.device?.string ?? event.facts.user?.string ?? ""), \(event.facts.outcome ?? ""))"
        }
        let more = outcomes.count > listedMax ? ", …" : ""
        return ToolFailure(
            .usage,
            "the trace has \(outcomes.count) outcomes; export one of \(some.joined(separator: ", "))\(more), or choose one "
                + "with --device")
    }

    private static func none(_ device: ExactText?) -> ToolFailure {
        ToolFailure(
            .usage,
            "the trace contains no outcome\(device.map { " for \($0)" } ?? ""); to export a change that was not "
                + "pushed, trace it, and name the user with --user; add --device if you mean only one device")
    }
}
