import EventLog
import JSON
import PipelineKit

/// The outcomes still to be recorded, in the order of their pushes.
///
/// A push's outcomes are written when all its devices have theirs and every earlier push's are written. So the log is
/// the same whichever transport was faster, and however the pushes were cut into windows.
struct OutcomeLedger {
    struct Entry {
        private struct Line {
            let device: Device
            let id: PositionID
            var result: Outcome?
        }

        let outcome: OutcomeText
        private var lines: [Line] = []
        private var unsettled = 0

        init(outcome: OutcomeText) { self.outcome = outcome }

        var isSettled: Bool { unsettled == 0 }

        mutating func add(_ device: Device, _ id: PositionID, _ result: Outcome?) {
            lines.append(Line(device: device, id: id, result: result))
            if result == nil { unsettled += 1 }
        }

        mutating func settle(_ answer: TransportAnswer) {
            let index = lines.firstIndex { $0.result == nil && $0.device.isNamed(answer.id.device) }
            guard let index else { return }
            lines[index].result = .answered(answer)
            unsettled -= 1
        }

        func write(into out: inout Outbox) {
            if lines.isEmpty { out.append { outcome.writeNoDevice(to: &$0) } }
            for line in lines {
                guard let result = line.result else { preconditionFailure("only settled outcomes are written") }
                out.append { outcome.write(result, at: line.device, line.id, to: &$0) }
            }
        }
    }

    private var entries: [UInt64: Entry] = [:]
    private var order: [UInt64] = []
    private var written = 0

    /// Whether every push has all its outcomes.
    var isEmpty: Bool { entries.isEmpty }

    mutating func append(_ entry: Entry, sequence: UInt64) {
        entries[sequence] = entry
        order.append(sequence)
    }

    mutating func settle(_ answer: TransportAnswer) { entries[answer.id.push]?.settle(answer) }

    mutating func writeSettled(into out: inout Outbox) {
        while written < order.count, let entry = entries[order[written]], entry.isSettled {
            entry.write(into: &out)
            entries[order[written]] = nil
            written += 1
        }
        if written == order.count || written >= 4_096 {
            order.removeFirst(written)
            written = 0
        }
    }
}
