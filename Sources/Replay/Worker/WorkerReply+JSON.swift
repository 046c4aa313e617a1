import Events
import JSON
import PipelineKit
import Time

extension WorkerReply {
    /// - Returns: The bytes behind the line.
    func write(into header: inout ByteBuffer) -> [UInt8] {
        switch self {
        case .ready(let snapshots, let deadline):
            header.begin(event: "ready")
            if let snapshots { header.append(raw: ",\"snapshots\":\(snapshots)") }
            WorkerReply.write(deadline, into: &header)
            return []
        case .done(let output):
            return output.write(into: &header)
        case .deliver(let delivery):
            header.append(raw: "{\"type\":\"deliver\"")
            delivery.id.write(into: &header)
            header.append(.transport, delivery.transport)
            header.append(raw: ",\"bytes\":\(delivery.byteCount)}")
            return delivery.line
        case .failed(let reason):
            header.begin(event: "error")
            header.append(.reason, reason)
            header.append("}")
            return []
        }
    }

    fileprivate static func write(_ deadline: Instant?, into header: inout ByteBuffer) {
        header.append(raw: deadline.map { ",\"deadline\":\($0.microseconds)}" } ?? "}")
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
        header.append(
            raw: "{\"type\":\"done\",\"events\":\(count),\"bytes\":\(lines.count + rejectedBytes),\"marks\":[")
        for (index, mark) in marks.enumerated() {
            if index > 0 { header.append(",") }
            let input = mark.input.map { "\($0)" } ?? "null"
            header.append(raw: "[\(input),\(mark.now.microseconds),\(mark.bytes),\(mark.events)]")
        }
        header.append("],\"rejected\":[")
        for (index, rejected) in rejected.enumerated() {
            if index > 0 { header.append(",") }
            WorkerOutput.write(rejected, into: &header)
        }
        header.append("]")
        WorkerReply.write(deadline, into: &header)
        return lines + rejected.flatMap(\.line)
    }

    private static func write(_ rejected: Outbox.Rejected, into header: inout ByteBuffer) {
        header.append(raw: "{\"sequence\":\(rejected.sequence),\"bytes\":\(rejected.line.count)")
        let rejection = rejected.rejection
        for (key, text) in [("code", rejection.code), ("reason", rejection.reason), ("path", rejection.path)] {
            header.append(raw: ",\"\(key)\":")
            header.appendJSON(text)
        }
        header.append("}")
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
