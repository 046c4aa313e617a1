import NIOCore
import PipelineKit

extension ConnectionPool {
    func handle(_ event: HTTP2Event, from connection: APNsConnection) {
        switch event {
        case .answer(let tag, let head, let body): answered(tag, head, body, by: connection)
        case .refused(let tag): returned(tag, by: connection)
        case .broken(let tag, let code): broke(tag, code)
        case .goAway(_, _, let data): goneAway(connection, data)
        case .settings: trouble = nil
        case .pong, .failed: break
        }
    }

    // MARK: Answers

    private func answered(_ tag: Int, _ head: ResponseHead, _ body: [UInt8], by connection: APNsConnection) {
        guard requests[tag] != nil else { return }
        noteAnswer()
        trouble = nil
        if head.status == 200, head.retryAfter == nil, body.isEmpty {
            return accept(tag, head, by: connection)
        }
        let answer = APNsAnswer(head, body: body, now: surroundings.now())
        if head.status != 403 { connection.isTrusted = true }
        apply(Treatment(status: answer.status, reason: answer.reason), answer, to: tag, by: connection)
    }

    private func accept(_ tag: Int, _ head: ResponseHead, by connection: APNsConnection) {
        connection.isTrusted = true
        noteProven(connection)
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
    private func noteProven(_ connection: APNsConnection) {
        (connection.isProven, connection.serverErrorsInARow, dialFailures) = (true, 0, 0)
    }

    private func apply(_ treatment: Treatment, _ answer: APNsAnswer, to tag: Int, by connection: APNsConnection) {
        guard let request = requests[tag] else { return }
        let cause = Cause(answer, request)
        let wasLeft = wasLeft(for: cause, before: connection, request)
        if !wasLeft || treatment.connection == .keep { apply(treatment.connection, to: connection, cause) }
        switch treatment.push {
        case .accept: finish(tag, .accepted, answer)
        case .fail: fail(tag, answer)
        case .unregistered: finish(tag, .unregistered, answer)
        case .unknownAddress: finish(tag, .unknownAddress, answer)
        case .stop: stop(tag, answer)
        case .onceMore(let end) where wasLeft: conclude(tag, end, answer)
        case .onceMore: onceMore(tag, answer, by: connection)
        case .later(let wait): later(tag, wait, answer)
        }
    }

    private func apply(_ treatment: Treatment.Connection, to connection: APNsConnection, _ cause: Cause) {
        switch treatment {
        case .keep: noteProven(connection)
        case .replace: leave(connection, for: cause)
        case .keepToken:
            leave(connection, for: cause)
            fields.keepToken(at: surroundings.now())
        case .renew:
            guard !connection.isRetired else { return }
            leave(connection, for: cause)
            renew()
        case .refreshToken:
            leave(connection, for: cause)
            refreshToken()
        case .suspect:
            connection.serverErrorsInARow += 1
            if connection.serverErrorsInARow >= Self.serverErrorsMax { leave(connection, for: cause) }
        }
    }

    private func refreshToken() {
        do { try fields.refuseToken(at: surroundings.now()) } catch { trouble = "\(error)" }
    }

    private func stop(_ tag: Int, _ answer: APNsAnswer) { endAlike(tag) { finish($0, .stopped, answer) } }

    /// Ends a push, and with it what waits of the same app: it would be refused in the same way.
    private func endAlike(_ tag: Int, _ end: (Int) -> Void) {
        let topic = requests[tag]?.push.kind.topic
        end(tag)
        // One that ends lets the next of its lane wait.
        while case let alike = waiting.filter({ requests[$0]?.push.kind.topic == topic }), !alike.isEmpty {
            waiting.removeAll { requests[$0]?.push.kind.topic == topic }
            for tag in alike { end(tag) }
        }
    }

    /// Too many of an app in a row are no fault of single pushes.
    private func fail(_ tag: Int, _ answer: APNsAnswer) {
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
    private func leave(_ connection: APNsConnection, for cause: Cause) {
        guard !connection.isRetired else { return }
        if connection.begun >= left[cause] ?? connection.begun { left[cause] = .now() }
        replace(connection)
        if !surroundings.asksOnce { waitAfter(connection, "waits for another connection after \(cause.text)") }
    }

    /// Whether a connection was left for the push already, and this is one of those that followed.
    private func wasLeft(for cause: Cause, before connection: APNsConnection, _ request: Request) -> Bool {
        guard let left = left[cause] else { return request.wasAskedOnceMore }
        return connection.begun >= left && (request.wasAskedOnceMore || request.taken <= left)
    }

    /// Another connection did not help.
    private func conclude(_ tag: Int, _ end: Treatment.End, _ answer: APNsAnswer) {
        switch end {
        case .stop: stop(tag, answer)
        case .later(.tokenPause): pauseKey(tag, answer)
        case .later(let wait): endAlike(tag) { later($0, wait, answer) }
        }
    }

    private func onceMore(_ tag: Int, _ answer: APNsAnswer, by connection: APNsConnection) {
        requests[tag]?.wasAskedOnceMore = true
        if pause == nil || !putOff(tag) { again(tag, answer, by: connection) }
    }

    // MARK: Another try

    /// - Parameter answer: Why; nil where the server did not even read it.
    private func again(_ tag: Int, _ answer: APNsAnswer?, by connection: APNsConnection) {
        requests[tag]?.flight = nil
        requests[tag]?.returned += 1
        guard let request = requests[tag], request.returned < Self.returnsMax else {
            giveUp(connection)
            return later(tag, .unanswered, answer, reason: answer == nil ? "given back by the server too often" : nil)
        }
        waiting.prepend(tag)
    }

    /// A server that only ever gives back is no better than one that cannot be reached, and is not dialled more often.
    private func giveUp(_ connection: APNsConnection) {
        guard !connection.isGivenUp else { return }
        connection.isGivenUp = true
        replace(connection)
        dialFailed("\(plan.place) gives back what it is sent")
    }

    /// Nothing of the key is sent for as long as no other token may be made.
    private func pauseKey(_ tag: Int, _ answer: APNsAnswer) {
        guard let request = requests[tag] else { return }
        fields.keepToken(at: surroundings.now())
        let told = deferral(request, .tokenPause, answer, attempts: request.attempts)
        end(tag, told)
        guard let until = told.until, pause == nil else { return }
        pause = (until, answer)
        while let tag = waiting.popFirst() { putOff(tag) }
    }

    /// - Returns: Whether the key still pauses.
    @discardableResult
    private func putOff(_ tag: Int) -> Bool {
        guard let request = requests[tag], var told = pausedAnswer(request.push) else { return false }
        (told.attempts, told.mayRepeat) = (request.attempts, request.mayRepeat)
        end(tag, told)
        return true
    }

    private func later(_ tag: Int, _ wait: Treatment.Wait, _ answer: APNsAnswer?, reason: String? = nil) {
        guard let request = requests[tag] else { return }
        end(tag, deferral(request, wait, answer, reason: reason, attempts: request.attempts))
    }

    /// The server did not process it: sending it again costs nothing and repeats nothing (RFC 9113, section 8.7).
    private func returned(_ tag: Int, by connection: APNsConnection) {
        requests[tag]?.attempts -= 1
        again(tag, nil, by: connection)
    }

    /// Nobody knows whether the server processed it.
    private func broke(_ tag: Int, _ code: HTTP2ErrorCode) {
        requests[tag]?.mayRepeat = true
        later(tag, .unanswered, nil, reason: code == .cancel ? Self.noAnswerCame : "\(Self.reset)\(code.rawValue)")
    }

    /// What stands in it is lenient: JSON with a reason, text, or nothing.
    private func goneAway(_ connection: APNsConnection, _ data: [UInt8]) {
        let (said, isFirst) = (APNsReason(data), !connection.isRetired)
        let treatment = said.reason.isEmpty ? nil : Treatment(status: 0, reason: said.reason)
        if treatment?.push == .stop { stopAll(said) }
        if treatment?.connection == .refreshToken { refreshToken() }
        trouble = Self.words(said, data) ?? "\(plan.place) says GOAWAY"
        guard isFirst else { return }
        replace(connection)
        if treatment?.connection == .renew { renew() }
        if let trouble { waitAfter(connection, trouble) }
    }

    private static func words(_ said: APNsReason, _ data: [UInt8]) -> String? {
        guard said.reason.isEmpty else { return said.reason }
        return data.isEmpty ? nil : "GOAWAY: \(String(decoding: data.prefix(200), as: UTF8.self))"
    }

    /// A credential that APNs does not take at all: reconnecting would go on for ever.
    private func stopAll(_ reason: APNsReason) {
        stopped = reason
        while let tag = waiting.popFirst() { finish(tag, .stopped, reason: reason.reason) }
    }
}
