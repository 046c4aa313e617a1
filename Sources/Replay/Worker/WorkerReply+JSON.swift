import Events
import JSON
import PipelineKit
import Time

extension WorkerReply {
    /// - Returns: The bytes behind the line.
    func write(into header: inout ByteBuffer) -> [UInt8] {
        switch self {
        case .ready(let snapshots, let deadline):
            header.object {
                $0.append("type", "ready")
                $0.append("snapshots", snapshots)
                $0.append("deadline", deadline?.microseconds)
            }
            return []
        case .done(let output):
            return output.write(into: &header)
        case .deliver(let delivery):
            header.object {
                $0.append("type", "deliver")
                delivery.id.write(into: &$0)
                $0.append(.transport, delivery.transport)
                $0.append("bytes", delivery.byteCount)
            }
            return delivery.line
        case .failed(let reason):
            header.object {
                $0.append("type", "error")
                $0.append(.reason, reason)
            }
            return []
        }
    }

    init(_ json: JSONValue, _ body: [UInt8]) throws(WorkerNonsense) {
        switch json.text(.type) {
        case "ready":
            self = .ready(snapshots: json.natural("snapshots").map { Int($0) }, deadline: json.deadline)
        case "done": self = .done(try WorkerOutput(json, body))
        case "deliver":
            self = .deliver(
                Delivery(id: try Delivery.ID(json), transport: json.text(.transport) ?? "", line: body))
        case "error": self = .failed(reason: json.text(.reason) ?? "no reason given")
        default: throw WorkerNonsense("an unknown reply")
        }
    }
}

extension JSONValue {
    fileprivate var deadline: Instant? { self["deadline"]?.int64.map { Instant(microseconds: $0) } }
}

extension WorkerOutput {
    /// The bytes are the events, each with its line feed, and behind them the rejected lines.
    fileprivate func write(into header: inout ByteBuffer) -> [UInt8] {
        let rejectedBytes = rejected.reduce(0) { $0 + $1.line.count }
        header.object {
            $0.append("type", "done")
            $0.append("events", count)
            $0.append("bytes", lines.count + rejectedBytes)
            $0.append("marks", marks) { header, mark in
                let input = mark.input.map { "\($0)" } ?? "null"
                header.append(raw: "[\(input),\(mark.now.microseconds),\(mark.bytes),\(mark.events)]")
            }
            $0.append("rejected", rejected, WorkerOutput.write)
            $0.append("deadline", deadline?.microseconds)
        }
        return lines + rejected.flatMap(\.line)
    }

    private static func write(into header: inout ByteBuffer, _ rejected: Outbox.Rejected) {
        header.object {
            $0.append(.sequence, rejected.sequence)
            $0.append("bytes", rejected.line.count)
            $0.append("code", rejected.rejection.code)
            $0.append(.reason, rejected.rejection.reason)
            $0.append("path", rejected.rejection.path)
        }
    }

    init(_ json: JSONValue, _ body: [UInt8]) throws(WorkerNonsense) {
        deadline = json.deadline
        var rest = body[...]
        for letter in (json["rejected"].map { Array($0.elements) } ?? []).reversed() {
            let bytes = Int(try letter.number("bytes"))
            guard bytes <= rest.count else { throw WorkerNonsense("more bytes are rejected than there are") }
            rejected.insert(try WorkerOutput.rejected(letter, rest.suffix(bytes)), at: 0)
            rest = rest.dropLast(bytes)
        }
        lines = Array(rest)
        count = Int(try json.number("events"))
        for mark in json["marks"].map({ Array($0.elements) }) ?? [] { marks.append(try WorkerOutput.mark(mark)) }
        try check()
    }

    private func check() throws(WorkerNonsense) {
        guard lines.isEmpty || lines.last == UInt8(ascii: "\n") else {
            throw WorkerNonsense("its last event has no line feed")
        }
        let isInOrder = zip(marks, marks.dropFirst()).allSatisfy { $0.bytes <= $1.bytes && $0.events <= $1.events }
        guard isInOrder, marks.allSatisfy({ $0.bytes <= lines.count && $0.events <= count }) else {
            throw WorkerNonsense("its marks are not in order, or lie behind its events")
        }
    }

    private static func rejected(_ json: JSONValue, _ line: ArraySlice<UInt8>) throws(WorkerNonsense)
        -> Outbox.Rejected
    {
        let rejection = Rejection(
            code: json.text(.code) ?? "", reason: json.text(.reason) ?? "", path: json.text(.path) ?? "")
        return Outbox.Rejected(sequence: try json.number(.sequence), rejection: rejection, line: Array(line))
    }

    private static func mark(_ json: JSONValue) throws(WorkerNonsense) -> MachineOutput.Mark {
        let parts = Array(json.elements).map(\.int64)
        guard parts.count == 4, let now = parts[1], let bytes = parts[2], let events = parts[3], bytes >= 0, events >= 0
        else { throw WorkerNonsense("a mark is [input or null, time, bytes, events]") }
        return MachineOutput.Mark(
            input: parts[0].map { UInt64(clamping: $0) }, now: Instant(microseconds: now), bytes: Int(bytes),
            events: Int(events))
    }
}
