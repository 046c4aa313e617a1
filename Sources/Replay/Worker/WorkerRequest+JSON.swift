import Events
import JSON
import PipelineKit
import PipelineRuntime
import Time

extension WorkerPipe {
    func send(_ request: WorkerRequest) throws(Failure) {
        var header = ByteBuffer()
        let body = request.write(into: &header)
        header.append("\n")
        try send(header, body)
    }

    private func send(_ header: borrowing ByteBuffer, _ body: [UInt8]) throws(Failure) {
        let result = body.withUnsafeBytes { body -> Result<Void, Failure> in
            do throws(Failure) { return .success(try send(header, body)) } catch { return .failure(error) }
        }
        try result.get()
    }

    func send(_ reply: WorkerReply) throws(Failure) {
        var header = ByteBuffer()
        let body = reply.write(into: &header)
        header.append("\n")
        try send(header, body)
    }

    func receiveRequest() throws(Failure) -> WorkerRequest {
        try receive { json, body throws(WorkerNonsense) in try WorkerRequest(json, body) }
    }

    func receiveReply() throws(Failure) -> WorkerReply {
        try receive { json, body throws(WorkerNonsense) in try WorkerReply(json, body) }
    }
}

extension WorkerRequest {
    /// - Returns: The bytes behind the line.
    fileprivate func write(into header: inout ByteBuffer) -> [UInt8] {
        switch self {
        case .begin(let beginning):
            beginning.write(into: &header)
            return []
        case .restore(let version, let position, let sequence, let now, let state):
            header.append(raw: "{\"type\":\"restore\",\"version\":\(version),\"position\":\(position)")
            header.append(raw: ",\"sequence\":\(sequence),\"now\":\(now.microseconds),\"bytes\":\(state.count)}")
            return state
        case .receive(let lines, let first, let now):
            header.append(raw: "{\"type\":\"receive\",\"first\":\(first),\"now\":\(now.microseconds)")
            header.append(raw: ",\"bytes\":\(lines.count)}")
            return lines
        case .advance(let now):
            header.append(raw: "{\"type\":\"advance\",\"now\":\(now.microseconds)}")
            return []
        case .answer(let answer):
            WorkerRequest.write(answer, into: &header)
            return []
        case .later:
            header.append("{\"type\":\"later\"}")
            return []
        }
    }

    private static func write(_ answer: TransportAnswer, into header: inout ByteBuffer) {
        header.append(raw: "{\"type\":\"answer\"")
        answer.id.write(into: &header)
        header.append(.outcome, answer.outcome.rawValue)
        header.append(.attempts, answer.attempts)
        if let status = answer.status { header.append(raw: ",\"status\":\(status)") }
        header.append(.reason, answer.reason)
        for (key, time) in [("until", answer.until), ("since", answer.since), ("taken", answer.taken)] {
            if let time { header.append(raw: ",\"\(key)\":\(time.microseconds)") }
        }
        if answer.mayRepeat { header.append(",\"mayRepeat\":true") }
        if answer.isUnderWay { header.append(",\"underWay\":true") }
        header.append(.receipt, answer.receipt)
        header.append("}")
    }

    init(_ json: JSONValue, _ body: [UInt8]) throws(WorkerNonsense) {
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
        default: throw WorkerNonsense("an unknown request")
        }
    }

    private static func answer(_ json: JSONValue) throws(WorkerNonsense) -> TransportAnswer {
        guard let outcome = json.text(.outcome).flatMap(TransportAnswer.Outcome.init) else {
            throw WorkerNonsense("an answer needs an outcome")
        }
        var answer = TransportAnswer(
            try Delivery.ID(json), outcome, status: json[.status]?.int64.map { Int($0) }, reason: json.text(.reason),
            attempts: json[.attempts]?.int64.map { Int($0) } ?? 1, until: json.time("until"),
            since: json.time("since"), mayRepeat: json["mayRepeat"]?.bool ?? false, receipt: json.text(.receipt),
            taken: json.time("taken"))
        answer.isUnderWay = json["underWay"]?.bool ?? false
        return answer
    }
}

extension WorkerBeginning {
    fileprivate func write(into header: inout ByteBuffer) {
        header.append(raw: "{\"type\":\"begin\",\"protocol\":\(WorkerBeginning.version)")
        for (key, text) in [("stage", stage), ("kind", kind), ("upstreamName", context.upstreamName)] {
            header.append(raw: ",\"\(key)\":")
            header.appendJSON(text)
        }
        header.append(raw: ",\"log\":\"\(context.log)\",\"upstream\":\"\(context.upstream)\"")
        header.append(raw: ",\"settings\":\(settings),\"history\":[")
        for (index, entry) in history.enumerated() {
            if index > 0 { header.append(",") }
            header.append(raw: "{\"after\":\(entry.after),\"now\":\(entry.now.microseconds),\"kind\":")
            header.appendJSON(entry.kind)
            header.append(raw: ",\"settings\":\(entry.settings)}")
        }
        header.append("]}")
    }

    init(_ json: JSONValue) throws(WorkerNonsense) {
        guard json.natural("protocol") == WorkerBeginning.version else {
            throw WorkerNonsense("this program speaks protocol \(WorkerBeginning.version)")
        }
        guard let stage = json.text(.stage), let kind = json.text("kind"), let name = json.text("upstreamName"),
            let log = json.text(.log).flatMap(LogIdentity.init(uuid:)),
            let upstream = json.text("upstream").flatMap(LogIdentity.init(uuid:)), let settings = json["settings"]
        else { throw WorkerNonsense("begin needs stage, kind, log, upstream, upstreamName and settings") }
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
    /// Appends `,"push":…,"device":…`, and `,"retired":…` where it is a notice's.
    func write(into header: inout ByteBuffer) {
        header.append(raw: ",\"push\":\(push),\"device\":")
        header.appendJSON(device)
        if let retired { header.append(raw: ",\"retired\":\(retired.microseconds)") }
    }

    init(_ json: JSONValue) throws(WorkerNonsense) {
        self.init(push: try json.number(.push), device: json.text(.device) ?? "", retired: json.time("retired"))
    }
}

extension JSONValue {
    fileprivate func time(_ key: String) -> Instant? {
        member(key)?.int64.map { Instant(microseconds: $0) }
    }

    func number(_ key: StaticString) throws(WorkerNonsense) -> UInt64 {
        guard let number = natural(key) else { throw WorkerNonsense("\(key) is no whole number") }
        return number
    }

    func instant(_ key: StaticString) throws(WorkerNonsense) -> Instant {
        guard let microseconds = self[key]?.int64 else { throw WorkerNonsense("\(key) is no time in microseconds") }
        return Instant(microseconds: microseconds)
    }
}
