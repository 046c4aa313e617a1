import Events
import JSON
import PipelineKit
import PipelineRuntime
import Time

extension WorkerPipe {
    func send(_ request: WorkerRequest) throws(Failure) { try send { request.write(into: &$0) } }

    func send(_ reply: WorkerReply) throws(Failure) { try send { reply.write(into: &$0) } }

    /// - Parameter write: Appends the message's line of JSON, and returns the bytes that follow the line.
    private func send(_ write: (inout ByteBuffer) -> [UInt8]) throws(Failure) {
        var message = ByteBuffer()
        let body = write(&message)
        message.append("\n")
        body.withUnsafeBytes { message.append($0) }
        try send(message)
    }

    func receiveRequest() throws(Failure) -> WorkerRequest {
        try receive { json, body throws(InvalidMessage) in try WorkerRequest(json, body) }
    }

    func receiveReply() throws(Failure) -> WorkerReply {
        try receive { json, body throws(InvalidMessage) in try WorkerReply(json, body) }
    }
}

extension WorkerRequest {
    /// Appends the message's line of JSON.
    ///
    /// - Returns: The bytes that follow the line.
    fileprivate func write(into header: inout ByteBuffer) -> [UInt8] {
        var body: [UInt8] = []
        header.object {
            switch self {
            case .begin(let beginning): beginning.write(into: &$0)
            case .restore(let version, let position, let sequence, let now, let state):
                $0.append("type", "restore")
                $0.append("version", version)
                $0.append("position", position)
                $0.append(.sequence, sequence)
                $0.append("now", now.microseconds)
                $0.append("bytes", state.count)
                body = state
            case .receive(let lines, let first, let now):
                $0.append("type", "receive")
                $0.append(.first, first)
                $0.append("now", now.microseconds)
                $0.append("bytes", lines.count)
                body = lines
            case .advance(let now):
                $0.append("type", "advance")
                $0.append("now", now.microseconds)
            case .answer(let answer): WorkerRequest.write(answer, into: &$0)
            case .later: $0.append("type", "later")
            }
        }
        return body
    }

    private static func write(_ answer: TransportAnswer, into header: inout ByteBuffer) {
        header.append("type", "answer")
        answer.id.write(into: &header)
        header.append(.outcome, answer.outcome.rawValue)
        header.append(.attempts, answer.attempts)
        header.append(.status, answer.status)
        header.append(.reason, answer.reason)
        header.append("until", answer.until?.microseconds)
        header.append("since", answer.since?.microseconds)
        header.append("taken", answer.receivedAt?.microseconds)
        if answer.mayRepeat { header.append("mayRepeat", true) }
        if answer.isUnderWay { header.append("underWay", true) }
        header.append(.receipt, answer.receipt)
    }

    init(_ json: JSONValue, _ body: [UInt8]) throws(InvalidMessage) {
        switch json.text(.type) {
        case "begin": self = .begin(try WorkerBeginning(json))
        case "restore":
            self = .restore(
                version: Int(try json.number("version")), position: try json.number("position"),
                sequence: try json.number(.sequence), now: try json.instant("now"), state: body)
        case "receive":
            self = .receive(lines: body, first: try json.number(.first), now: try json.instant("now"))
        case "advance": self = .advance(now: try json.instant("now"))
        case "answer": self = .answer(try WorkerRequest.answer(json))
        case "later": self = .later
        default: throw InvalidMessage("an unknown request")
        }
    }

    private static func answer(_ json: JSONValue) throws(InvalidMessage) -> TransportAnswer {
        guard let outcome = json.text(.outcome).flatMap(TransportAnswer.Outcome.init) else {
            throw InvalidMessage("the answer has no outcome that this program knows")
        }
        var answer = TransportAnswer(
            try Delivery.ID(json), outcome, status: json[.status]?.int64.map { Int($0) }, reason: json.text(.reason),
            attempts: json[.attempts]?.int64.map { Int($0) } ?? 1, until: json.time("until"),
            since: json.time("since"), mayRepeat: json["mayRepeat"]?.bool ?? false, receipt: json.text(.receipt),
            receivedAt: json.time("taken"))
        answer.isUnderWay = json["underWay"]?.bool ?? false
        return answer
    }
}

extension WorkerBeginning {
    fileprivate func write(into header: inout ByteBuffer) {
        header.append("type", "begin")
        header.append("protocol", WorkerBeginning.version)
        header.append(.stage, stage)
        header.append("kind", kind)
        header.append("upstreamName", context.upstreamName)
        header.append(.log, "\(context.log)")
        header.append("upstream", "\(context.upstream)")
        header.append("settings", raw: settings)
        header.append("history", history) { header, entry in
            header.object {
                $0.append("after", entry.after)
                $0.append("now", entry.now.microseconds)
                $0.append("kind", entry.kind)
                $0.append("settings", raw: entry.settings)
            }
        }
    }

    init(_ json: JSONValue) throws(InvalidMessage) {
        guard json.natural("protocol") == WorkerBeginning.version else {
            throw InvalidMessage(
                "the worker speaks version \(WorkerBeginning.version) of the protocol, but the replay speaks another")
        }
        guard let stage = json.text(.stage), let kind = json.text("kind"), let name = json.text("upstreamName"),
            let log = json.text(.log).flatMap(LogIdentity.init(uuid:)),
            let upstream = json.text("upstream").flatMap(LogIdentity.init(uuid:)), let settings = json["settings"]
        else { throw InvalidMessage("'begin' lacks a valid stage, kind, log, upstream, upstreamName or settings") }
        (self.stage, self.kind, self.settings) = (stage, kind, String(decoding: settings.raw, as: UTF8.self))
        context = StageContext(log: log, upstream: upstream, upstreamName: name)
        history = []
        for entry in json["history"].map({ Array($0.elements) }) ?? [] {
            history.append(
                .init(
                    after: try entry.number("after"), now: try entry.instant("now"), kind: entry.text("kind") ?? "",
                    settings: entry["settings"].map { String(decoding: $0.raw, as: UTF8.self) } ?? ""))
        }
    }
}

extension Delivery.ID {
    func write(into header: inout ByteBuffer) {
        header.append(.push, push)
        header.append(.device, device)
        header.append("retired", retired?.microseconds)
    }

    init(_ json: JSONValue) throws(InvalidMessage) {
        self.init(push: try json.number(.push), device: json.text(.device) ?? "", retired: json.time("retired"))
    }
}

extension JSONValue {
    fileprivate func time(_ key: String) -> Instant? {
        member(key)?.int64.map { Instant(microseconds: $0) }
    }

    func number(_ key: StaticString) throws(InvalidMessage) -> UInt64 {
        guard let number = natural(key) else { throw InvalidMessage("\(key) is not a whole number") }
        return number
    }

    fileprivate func instant(_ key: StaticString) throws(InvalidMessage) -> Instant {
        guard let microseconds = self[key]?.int64 else { throw InvalidMessage("\(key) is not a time in microseconds") }
        return Instant(microseconds: microseconds)
    }
}
