import Events
import StageTool

/// Prints a trace for people as a tree. The line of an event has its log, sequence, time, time since its cause, type
/// and summary. Where the event occurs again, the line has `as above` in place of the time, the type and the summary.
package struct TraceText {
    private let painter: Painter

    package init(painter: Painter) { self.painter = painter }

    package func lines(_ graph: TraceGraph) -> [String] {
        var lines: [String] = []
        if graph.changesLeftOut > 0 {
            lines.append(painter.dim("(\(graph.changesLeftOut.of("earlier change")) left out)"))
        }
        if graph.isCut {
            lines.append(
                painter.dim("(only the first \(Causality.matchesMax.of(EventName.match.description)) of a change)"))
        }
        return lines + graph.trees(tree).flatMap { $0 }
    }

    package func hit(_ hit: TraceHit) -> String {
        let columns = [painter.cyan(hit.kind.rawValue.padded(to: 12)), head(hit.event), TraceSummary.text(hit.event)]
        return columns.joined(separator: "  ")
    }

    /// A node's line, followed by its effects' lines as branches.
    private func tree(_ visit: TraceGraph.Visit, _ children: [[String]]) -> [String] {
        var branches = children
        if let log = visit.node.waitsFor, !visit.isRepeated {
            let text = visit.node.wasDroppedByPlugin ? "not passed on by \(log)" : "nothing in \(log) yet"
            branches.append([painter.dim(text)])
        }
        var lines = [line(visit)]
        for (number, branch) in branches.enumerated() {
            let isLast = number == branches.count - 1
            for (index, text) in branch.enumerated() {
                lines.append((index == 0 ? (isLast ? "└─ " : "├─ ") : (isLast ? "   " : "│  ")) + text)
            }
        }
        return lines
    }

    private func line(_ visit: TraceGraph.Visit) -> String {
        let event = visit.node.event
        let place = visit.isTarget ? painter.bold(event.place.description) : event.place.description
        let since = visit.since.map { painter.dim($0.sinceText) }
        if visit.isRepeated {
            return [place, since, painter.dim("as above")].compactMap { $0 }.joined(separator: "  ")
        }
        let parts = [place, painter.dim(event.now.rfc3339), since, type(event), TraceSummary.text(event)]
        return parts.compactMap { $0 }.joined(separator: "  ") + (visit.isTarget ? painter.bold(" ◀") : "")
    }

    private func head(_ event: TraceEvent) -> String {
        "\(event.place)  \(painter.dim(event.now.rfc3339))  \(type(event))"
    }

    private func type(_ event: TraceEvent) -> String {
        let name = event.type.printable
        switch (event.type, event.facts.outcome) {
        case (EventName.outcome, "accepted"), (EventName.noticeOutcome, "accepted"), (EventName.appResumed, _):
            return painter.green(name)
        case (EventName.outcome, "failed"), (EventName.outcome, "unregistered"),
            (EventName.outcome, "unknown_transport"),
            (EventName.noticeOutcome, _), (EventName.deviceRetired, _), (EventName.appStopped, _),
            (EventName.deadLetter, _):
            return painter.red(name)
        default: return painter.cyan(name)
        }
    }
}
