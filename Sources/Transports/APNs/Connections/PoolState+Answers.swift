import NIOCore
import PipelineKit

extension PoolState {
    /// What the server's bytes said, or the connection's end.
    ///
    /// - Parameters:
    ///   - hasRead: Whether bytes came.
    ///   - isOver: Whether nothing more can be written to it.
    mutating func received(_ events: [HTTP2Event], from id: Int, hasRead: Bool, isOver: Bool, at moment: Moment) {
        self.moment = moment
        if hasRead, let index = index(of: id) { connections[index].lifeSigns.noteRead(at: moment.now) }
        for event in events { handle(event, from: id) }
        closeIfDrained(id)
        if isOver { endConnection(id, because: nil) }
        fill()
    }

    private mutating func handle(_ event: HTTP2Event, from id: Int) {
        switch event {
        case .answer(let tag, let head, let body): answered(tag, head, body, by: id)
        case .refused(let tag): returned(tag, by: id)
        case .broken(let tag, let code): broke(tag, code)
        case .goAway(_, _, let data): goneAway(id, data)
        case .settings(let streamsMax):
            trouble = nil
            if let index = index(of: id) { connections[index].settle(streamsMax: streamsMax) }
        case .failed(_, let reason) where !reason.isEmpty:
            endConnection(id, because: terms.server.words(for: ProtocolBreach(reason: reason)))
        case .pong, .failed: break
        }
    }

    // MARK: Answers

    private mutating func answered(_ tag: Int, _ head: ResponseHead, _ body: [UInt8], by id: Int) {
        guard requests[tag] != nil else { return }
        land(tag)
        (answers, timedOutInLastWindow, trouble) = (answers + 1, false, nil)
        if head.status != 403, let index = index(of: id) { connections[index].trust() }
        if head.status == 200, head.retryAfter == nil, body.isEmpty {
            return accept(tag, head, by: id)
        }
        let answer = APNsAnswer(head, body: body, now: moment.wall)
        apply(Treatment(status: answer.status, reason: answer.reason), answer, to: tag, by: id)
    }

    private mutating func accept(_ tag: Int, _ head: ResponseHead, by id: Int) {
        noteProven(id)
        pause = nil
        guard let request = requests[tag] else { return }
        if !refusalsInARow.isEmpty { refusalsInARow[request.push.kind.topic] = nil }
        end(
            tag,
            TransportAnswer(
                request.push.delivery.id, .accepted, status: 200, attempts: request.attempts,
                mayRepeat: request.mayRepeat, receipt: head.uniqueID))
    }

    /// A connection counts as good once something was answered on it, not once it stands.
    private mutating func noteProven(_ id: Int) {
        dialFailures = 0
        guard let index = index(of: id) else { return }
        (connections[index].isProven, connections[index].serverErrorsInARow) = (true, 0)
    }

    private mutating func apply(_ treatment: Treatment, _ answer: APNsAnswer, to tag: Int, by id: Int) {
        guard let request = requests[tag] else { return }
        let cause = Cause(answer, request)
        let wasLeft = wasLeft(for: cause, before: id, request)
        if !wasLeft || treatment.connection == .keep { apply(treatment.connection, to: id, cause) }
        switch treatment.push {
        case .accept: finish(tag, .accepted, answer)
        case .fail: fail(tag, answer)
        case .unregistered: finish(tag, .unregistered, answer)
        case .unknownAddress: finish(tag, .unknownAddress, answer)
        case .stop: stop(tag, answer)
        case .onceMore(let end) where wasLeft: conclude(tag, end, answer)
        case .onceMore: onceMore(tag, answer, by: id)
        case .later(let wait): later(tag, wait, answer)
        }
    }

    private mutating func apply(_ treatment: Treatment.Connection, to id: Int, _ cause: Cause) {
        switch treatment {
        case .keep: noteProven(id)
        case .replace: leave(id, for: cause)
        case .keepToken:
            leave(id, for: cause)
            actions.append(.keepToken)
        case .renew:
            guard !isLeft(id) else { return }
            leave(id, for: cause)
            renew()
        case .refreshToken:
            leave(id, for: cause)
            actions.append(.refuseToken)
        case .suspect:
            guard let index = index(of: id) else { return }
            connections[index].serverErrorsInARow += 1
            if connections[index].serverErrorsInARow >= Self.serverErrorsMax { leave(id, for: cause) }
        }
    }

    private mutating func stop(_ tag: Int, _ answer: APNsAnswer) { endAlike(tag) { $0.finish($1, .stopped, answer) } }

    /// Ends a push, and with it what waits of the same app: it would be refused in the same way.
    private mutating func endAlike(_ tag: Int, _ end: (inout PoolState, Int) -> Void) {
        let topic = requests[tag]?.push.kind.topic
        end(&self, tag)
        // One that ends lets the next of its lane wait.
        while case let alike = waiting.filter({ requests[$0]?.push.kind.topic == topic }), !alike.isEmpty {
            waiting.removeAll { requests[$0]?.push.kind.topic == topic }
            for tag in alike { end(&self, tag) }
        }
    }

    /// Too many of an app in a row are no fault of single pushes.
    private mutating func fail(_ tag: Int, _ answer: APNsAnswer) {
        guard let topic = requests[tag]?.push.kind.topic else { return }
        let isOfApp = answer.reason == "Forbidden" || !Treatment.isKnown(answer.reason)
        refusalsInARow[topic] = isOfApp ? refusalsInARow[topic, default: 0] + 1 : nil
        if refusalsInARow[topic, default: 0] >= Self.refusalsMax {
            stop(tag, answer)
        } else {
            finish(tag, .failed, answer)
        }
    }

    // MARK: Another connection

    /// Goes over to another connection, once for each cause: what was refused with it does not do so again.
    private mutating func leave(_ id: Int, for cause: Cause) {
        guard !isLeft(id), let index = index(of: id) else { return }
        let connection = connections[index]
        if connection.begun >= left[cause] ?? connection.begun { left[cause] = moment.now }
        replace(id)
        if !terms.asksOnce { waitAfter(connection, "waits for another connection after \(cause.text)") }
    }

    /// Whether a connection was left for the push already, and this is one of those that followed.
    private func wasLeft(for cause: Cause, before id: Int, _ request: Request) -> Bool {
        guard let left = left[cause] else { return request.wasAskedOnceMore }
        return connections.contains { $0.id == id && $0.begun >= left }
            && (request.wasAskedOnceMore || request.taken <= left)
    }

    /// Another connection did not help.
    private mutating func conclude(_ tag: Int, _ end: Treatment.End, _ answer: APNsAnswer) {
        switch end {
        case .stop: stop(tag, answer)
        case .later(.tokenPause): pauseKey(tag, answer)
        case .later(let wait): endAlike(tag) { $0.later($1, wait, answer) }
        }
    }

    private mutating func onceMore(_ tag: Int, _ answer: APNsAnswer, by id: Int) {
        requests[tag]?.wasAskedOnceMore = true
        if pause == nil || !putOff(tag) { again(tag, answer, by: id) }
    }

    // MARK: Another try

    /// - Parameter answer: Why; nil where the server did not even read it.
    private mutating func again(_ tag: Int, _ answer: APNsAnswer?, by id: Int) {
        requests[tag]?.returned += 1
        guard let request = requests[tag], request.returned < Self.returnsMax else {
            giveUp(id)
            return later(tag, .unanswered, answer, reason: answer == nil ? "given back by the server too often" : nil)
        }
        waiting.prepend(tag)
    }

    /// A server that only ever gives back is no better than one that cannot be reached, and is not dialled more often.
    private mutating func giveUp(_ id: Int) {
        guard let index = index(of: id), !connections[index].isGivenUp else { return }
        connections[index].isGivenUp = true
        replace(id)
        dialFailed("\(terms.server.place) gives back what it is sent")
    }

    /// Nothing of the key is sent for as long as no other token may be made.
    private mutating func pauseKey(_ tag: Int, _ answer: APNsAnswer) {
        guard let request = requests[tag] else { return }
        actions.append(.keepToken)
        let told = deferral(request, .tokenPause, answer, attempts: request.attempts)
        end(tag, told)
        guard let until = told.until, pause == nil else { return }
        pause = (until, answer)
        while let tag = waiting.popFirst() { putOff(tag) }
    }

    /// - Returns: Whether the key still pauses.
    @discardableResult
    private mutating func putOff(_ tag: Int) -> Bool {
        guard let request = requests[tag], var told = pausedAnswer(request.push) else { return false }
        (told.attempts, told.mayRepeat) = (request.attempts, request.mayRepeat)
        end(tag, told)
        return true
    }

    private mutating func later(_ tag: Int, _ wait: Treatment.Wait, _ answer: APNsAnswer?, reason: String? = nil) {
        guard let request = requests[tag] else { return }
        end(tag, deferral(request, wait, answer, reason: reason, attempts: request.attempts))
    }

    /// The server did not process it: sending it again costs nothing and repeats nothing (RFC 9113, section 8.7).
    private mutating func returned(_ tag: Int, by id: Int) {
        land(tag)
        requests[tag]?.attempts -= 1
        again(tag, nil, by: id)
    }

    /// Nobody knows whether the server processed it.
    private mutating func broke(_ tag: Int, _ code: HTTP2ErrorCode) {
        land(tag)
        requests[tag]?.mayRepeat = true
        later(tag, .unanswered, nil, reason: code == .cancel ? Self.noAnswerCame : "\(Self.reset)\(code.rawValue)")
    }

    /// What stands in it is lenient: JSON with a reason, text, or nothing.
    private mutating func goneAway(_ id: Int, _ data: [UInt8]) {
        let said = APNsReason(data)
        let treatment = said.reason.isEmpty ? nil : Treatment(status: 0, reason: said.reason)
        if treatment?.push == .stop { stopAll(said) }
        if treatment?.connection == .refreshToken { actions.append(.refuseToken) }
        trouble = Self.words(said, data) ?? "\(terms.server.place) says GOAWAY"
        guard !isLeft(id), let index = index(of: id) else { return }
        let connection = connections[index]
        replace(id)
        if treatment?.connection == .renew { renew() }
        if let trouble { waitAfter(connection, trouble) }
    }

    private static func words(_ said: APNsReason, _ data: [UInt8]) -> String? {
        guard said.reason.isEmpty else { return said.reason }
        return data.isEmpty ? nil : "GOAWAY: \(String(decoding: data.prefix(200), as: UTF8.self))"
    }

    /// A credential that APNs does not take at all: reconnecting would go on for ever.
    private mutating func stopAll(_ reason: APNsReason) {
        stopped = reason
        while let tag = waiting.popFirst() { finish(tag, .stopped, reason: reason.reason) }
    }
}
