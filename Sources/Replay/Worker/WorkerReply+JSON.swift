import Events
import JSON
import PipelineKit
import Time

extension WorkerReply {
    /// Appends the message's line of JSON.
    ///
    /// - Returns: The bytes that follow the line.
    func write(into header: inout ByteBuffer) -> [UInt8] {
        var body: [UInt8] = []
        header.object {
            switch self {
            case .ready(let snapshotVersion, let deadline):
                $0.append("type", "ready")
                $0.append("snapshots", snapshotVersion)
                $0.append("deadline", deadline?.microseconds)
            case .done(let output):
                output.write(into: &$0)
                body = output.lines + output.rejected.flatMap(\.line)
            case .deliver(let delivery):
                $0.append("type", "deliver")
                delivery.id.write(into: &$0)
                $0.append(.transport, delivery.transport)
                $0.append("bytes", delivery.byteCount)
                body = delivery.line
            case .failed(let reason):
                $0.append("type", "error")
                $0.append(.reason, reason)
            }
        }
        return body
    }

    init(_ json: JSONValue, _ body: [UInt8]) throws(InvalidMessage) {
        switch json.text(.type) {
        case "ready":
            self = .ready(snapshotVersion: json.natural("snapshots").map { Int($0) }, deadline: json.deadline)
        case "done": self = .done(try WorkerOutput(json, body))
        case "deliver":
            self = .deliver(
                Delivery(id: try Delivery.ID(json), transport: json.text(.transport) ?? "", line: body))
        case "error": self = .failed(reason: json.text(.reason) ?? "no reason given")
        default: throw InvalidMessage("an unknown reply")
        }
    }
}

extension JSONValue {
    fileprivate var deadline: Instant? { self["deadline"]?.int64.map { Instant(microseconds: $0) } }
}

extension WorkerOutput {
    /// Appends the members. The bytes of the message are the events, each with its line feed, then the rejected lines.
    fileprivate func write(into header: inout ByteBuffer) {
        header.append("type", "done")
        header.append("events", count)
        header.append("bytes", lines.count + rejected.reduce(0) { $0 + $1.line.count })
        header.append("marks", marks) { header, mark in
            let input = mark.input.map { "\($0)" } ?? "null"
            header.append(raw: "[\(input),\(mark.now.microseconds),\(mark.bytes),\(mark.events)]")
        }
        header.append("rejected", rejected, WorkerOutput.write)
        header.append("deadline", deadline?.microseconds)
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

    init(_ json: JSONValue, _ body: [UInt8]) throws(InvalidMessage) {
        deadline = json.deadline
        var rest = body[...]
        for entry in (json["rejected"].map { Array($0.elements) } ?? []).reversed() {
            let bytes = Int(try entry.number("bytes"))
            guard bytes <= rest.count else { throw InvalidMessage("the rejected lines are longer than the message") }
            rejected.insert(try WorkerOutput.rejected(entry, rest.suffix(bytes)), at: 0)
            rest = rest.dropLast(bytes)
        }
        lines = Array(rest)
        count = Int(try json.number("events"))
        for mark in json["marks"].map({ Array($0.elements) }) ?? [] { marks.append(try WorkerOutput.mark(mark)) }
        try check()
    }

    private func check() throws(InvalidMessage) {
        guard lines.isEmpty || lines.last == UInt8(ascii: "\n") else {
            throw InvalidMessage("its last event has no line feed")
        }
        let isInOrder = zip(marks, marks.dropFirst()).allSatisfy { $0.bytes <= $1.bytes && $0.events <= $1.events }
        guard isInOrder, marks.allSatisfy({ $0.bytes <= lines.count && $0.events <= count }) else {
            throw InvalidMessage("its marks are not in order, or come after its last event")
        }
    }

    private static func rejected(_ json: JSONValue, _ line: ArraySlice<UInt8>) throws(InvalidMessage)
        -> Outbox.Rejected
    {
        let rejection = Rejection(
            code: json.text(.code) ?? "", reason: json.text(.reason) ?? "", path: json.text(.path) ?? "")
        return Outbox.Rejected(sequence: try json.number(.sequence), rejection: rejection, line: Array(line))
    }

    private static func mark(_ json: JSONValue) throws(InvalidMessage) -> MachineOutput.Mark {
        let parts = Array(json.elements).map(\.int64)
        guard parts.count == 4, let now = parts[1], let bytes = parts[2], let events = parts[3], bytes >= 0, events >= 0
        else { throw InvalidMessage("a mark is not [input or null, time, bytes, events]") }
        return MachineOutput.Mark(
            input: parts[0].map { UInt64(clamping: $0) }, now: Instant(microseconds: now), bytes: Int(bytes),
            events: Int(events))
    }
}
