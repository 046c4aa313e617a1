import EventLog
import NIOCore
import PipelineKit

extension ConnectionPool {
    func handle(_ event: HTTP2Event, from connection: APNsConnection) {
        switch event {
        case .answer(let tag, let head, let body): answered(tag, head, body, by: connection)
        case .refused(let tag): returned(tag, by: connection)
        case .broken(let tag, let code): broke(tag, code)
        case .goAway(_, _, let data): goneAway(connection, data)
        case .settings, .pong, .failed: break
        }
    }

    // MARK: Answers

    private func answered(_ tag: Int, _ head: ResponseHead, _ body: [UInt8], by connection: APNsConnection) {
        guard requests[tag] != nil else { return }
        // A connection counts as good once something was answered on it, not once it stands.
        dialFailures = 0
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
        connection.serverErrorsInARow = 0
        refusalsInARow = 0
        pause = nil
        guard let request = requests[tag] else { return }
        end(
            tag,
            TransportAnswer(
                request.push.delivery.id, .accepted, status: 200, attempts: request.attempts,
                mayRepeat: request.mayRepeat, receipt: head.uniqueID))
    }

    private func apply(_ treatment: Treatment, _ answer: APNsAnswer, to tag: Int, by connection: APNsConnection) {
        apply(treatment.connection, to: connection)
        switch treatment.push {
        case .accept: finish(tag, .accepted, answer)
        case .fail: fail(tag, answer)
        case .unregistered: finish(tag, .unregistered, answer)
        case .unknownAddress: finish(tag, .unknownAddress, answer)
        case .stop: stop(tag, treatment, answer)
        case .again: again(tag, answer, by: connection)
        case .onceMore: onceMore(tag, answer, by: connection)
        case .later(.tokenPause): onceMoreOrPause(tag, answer, by: connection)
        case .later(let wait): later(tag, wait, answer)
        }
    }

    private func apply(_ treatment: Treatment.Connection, to connection: APNsConnection) {
        switch treatment {
        case .keep: connection.serverErrorsInARow = 0
        case .replace: replace(connection)
        case .keepToken:
            replace(connection)
            fields.keepToken(at: surroundings.now())
        case .renew: if !connection.isRetired { renew() }
        case .refreshToken: refreshToken(connection)
        case .suspect:
            connection.serverErrorsInARow += 1
            if connection.serverErrorsInARow >= Self.serverErrorsMax { replace(connection) }
        }
    }

    private func refreshToken(_ connection: APNsConnection) {
        replace(connection)
        do { try fields.refuseToken(at: surroundings.now()) } catch { trouble = "\(error)" }
    }

    /// Where the credential is not taken, what waits of the same app would be refused on one new connection after the
    /// other.
    private func stop(_ tag: Int, _ treatment: Treatment, _ answer: APNsAnswer) {
        let topic = requests[tag]?.push.kind.topic
        finish(tag, .stopped, answer)
        guard treatment.connection == .renew else { return }
        // One that ends lets the next of its lane wait.
        while case let alike = waiting.filter({ requests[$0]?.push.kind.topic == topic }), !alike.isEmpty {
            waiting.removeAll { requests[$0]?.push.kind.topic == topic }
            for tag in alike { finish(tag, .stopped, answer) }
        }
    }

    /// Too many in a row are no fault of single pushes.
    private func fail(_ tag: Int, _ answer: APNsAnswer) {
        let isOfApp = answer.reason == "Forbidden" || !Treatment.isKnown(answer.reason)
        refusalsInARow = isOfApp ? refusalsInARow + 1 : 0
        finish(tag, refusalsInARow >= Self.refusalsMax ? .stopped : .failed, answer)
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

    private func onceMore(_ tag: Int, _ answer: APNsAnswer, by connection: APNsConnection) {
        guard requests[tag]?.wasAskedOnceMore == false else { return finish(tag, .stopped, answer) }
        requests[tag]?.wasAskedOnceMore = true
        again(tag, answer, by: connection)
    }

    /// Another connection did not help: nothing of the key is sent for as long as no other token may be made.
    private func onceMoreOrPause(_ tag: Int, _ answer: APNsAnswer, by connection: APNsConnection) {
        guard let request = requests[tag], request.wasAskedOnceMore else {
            requests[tag]?.wasAskedOnceMore = true
            return again(tag, answer, by: connection)
        }
        let told = deferral(request, .tokenPause, answer, attempts: request.attempts)
        end(tag, told)
        guard let until = told.until, pause == nil else { return }
        pause = (until, answer)
        while let tag = waiting.popFirst() { putOff(tag) }
    }

    private func putOff(_ tag: Int) {
        guard let request = requests[tag], var told = pausedAnswer(request.push) else { return }
        (told.attempts, told.mayRepeat) = (request.attempts, request.mayRepeat)
        end(tag, told)
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
        replace(connection)
        guard !data.isEmpty else { return }
        let said = APNsReason(data)
        trouble = said.reason.isEmpty ? "GOAWAY: \(String(decoding: data.prefix(200), as: UTF8.self))" : said.reason
        guard !said.reason.isEmpty else { return }
        let treatment = Treatment(status: 0, reason: said.reason)
        if treatment.connection == .refreshToken { refreshToken(connection) }
        if treatment.connection == .renew { renew() }
        if treatment.push == .stop { stopAll(said) }
    }

    /// A credential that APNs does not take at all: reconnecting would go on for ever.
    private func stopAll(_ reason: APNsReason) {
        stopped = reason
        while let tag = waiting.popFirst() { finish(tag, .stopped, reason: reason.reason) }
    }
}
