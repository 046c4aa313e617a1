import NIOCore
import PipelineKit

extension PoolState {
    /// Handles the events that a connection's session reports.
    ///
    /// - Parameters:
    ///   - hasRead: Whether the server sent bytes.
    ///   - isOver: Whether the session has ended: HTTP/2 was violated, or the connection is closed.
    mutating func received(_ events: [HTTP2Event], from id: Int, hasRead: Bool, isOver: Bool, at moment: Moment) {
        self.moment = moment
        if hasRead, let index = index(of: id) { connections[index].health.noteRead(at: moment.now) }
        for event in events { handle(event, from: id) }
        closeIfDrained(id)
        if isOver { endConnection(id, because: nil) }
        fill()
    }

    private mutating func handle(_ event: HTTP2Event, from id: Int) {
        switch event {
        case .answer(let tag, let head, let body): answered(tag, head, body, by: id)
        case .refused(let tag): refused(tag, by: id)
        case .broken(let tag, let code): broke(tag, code)
        case .goAway(_, _, let data): goneAway(id, data)
        case .settings(let streamsMax):
            failure = nil
            if let index = index(of: id) { connections[index].receiveSettings(streamsMax: streamsMax) }
        case .failed(_, let reason) where !reason.isEmpty:
            endConnection(id, because: options.server.words(for: ProtocolBreach(reason: reason)))
        case .pong, .failed: break
        }
    }

    // MARK: Answers

    private mutating func answered(_ tag: Int, _ head: ResponseHead, _ body: [UInt8], by id: Int) {
        guard requests[tag] != nil else { return }
        endFlight(tag)
        (answerCount, timedOutInLastWindow, failure) = (answerCount + 1, false, nil)
        if head.status != 403, let index = index(of: id) { connections[index].trust() }
        if head.status == 200, head.retryAfter == nil, body.isEmpty {
            return accept(tag, head, by: id)
        }
        let answer = APNsAnswer(head, body: body, now: moment.wall)
        apply(Treatment(status: answer.status, reason: answer.reason), answer, to: tag, by: id)
    }

    private mutating func accept(_ tag: Int, _ head: ResponseHead, by id: Int) {
        noteWorking(id)
        pause = nil
        guard let request = requests[tag] else { return }
        if !appFailuresInARow.isEmpty { appFailuresInARow[request.push.kind.topic] = nil }
        end(
            tag,
            TransportAnswer(
                request.push.delivery.id, .accepted, status: 200, attempts: request.attempts,
                mayRepeat: request.mayRepeat, receipt: head.uniqueID))
    }

    /// Notes that the connection works. Only an answer proves this, not an open socket.
    private mutating func noteWorking(_ id: Int) {
        dialFailures = 0
        guard let index = index(of: id) else { return }
        (connections[index].hasWorked, connections[index].suspectAnswersInARow) = (true, 0)
    }

    private mutating func apply(_ treatment: Treatment, _ answer: APNsAnswer, to tag: Int, by id: Int) {
        guard let request = requests[tag] else { return }
        let cause = ReplacementCause(answer, request)
        let wasReplaced = wasReplaced(for: cause, before: id, request)
        if !wasReplaced || treatment.connection == .keep { apply(treatment.connection, to: id, cause) }
        switch treatment.push {
        case .accept: finish(tag, .accepted, answer)
        case .fail: fail(tag, answer)
        case .unregistered: finish(tag, .unregistered, answer)
        case .unknownAddress: finish(tag, .unknownAddress, answer)
        case .stop: stop(tag, answer)
        case .retryOnce(let end) where wasReplaced: conclude(tag, end, answer)
        case .retryOnce: retryOnce(tag, answer, by: id)
        case .retryLater(let wait): retryLater(tag, wait, answer)
        }
    }

    private mutating func apply(_ treatment: Treatment.Connection, to id: Int, _ cause: ReplacementCause) {
        switch treatment {
        case .keep: noteWorking(id)
        case .replace: replace(id, for: cause)
        case .keepToken:
            replace(id, for: cause)
            actions.append(.keepToken)
        case .renew:
            guard !isDraining(id) else { return }
            replace(id, for: cause)
            renew()
        case .refreshToken:
            replace(id, for: cause)
            actions.append(.replaceExpiredToken)
        case .suspect:
            guard let index = index(of: id) else { return }
            connections[index].suspectAnswersInARow += 1
            if connections[index].suspectAnswersInARow >= Self.suspectAnswersMax { replace(id, for: cause) }
        }
    }

    private mutating func stop(_ tag: Int, _ answer: APNsAnswer) {
        endAllOfApp(tag) { $0.finish($1, .stopped, answer) }
    }

    /// Ends a push and all waiting pushes of its app, which would get the same answer.
    private mutating func endAllOfApp(_ tag: Int, _ end: (inout PoolState, Int) -> Void) {
        let topic = requests[tag]?.push.kind.topic
        end(&self, tag)
        // When a push ends, the next push with its order key moves to `waiting`.
        while case let alike = waiting.filter({ requests[$0]?.push.kind.topic == topic }), !alike.isEmpty {
            waiting.removeAll { requests[$0]?.push.kind.topic == topic }
            for tag in alike { end(&self, tag) }
        }
    }

    /// Fails a push. If the reason is `Forbidden` or unknown, the cause may be the app and not the single push. If the
    /// app has at least ``appFailuresMax`` such failures in a row, this push and the app's waiting pushes are stopped.
    private mutating func fail(_ tag: Int, _ answer: APNsAnswer) {
        guard let topic = requests[tag]?.push.kind.topic else { return }
        let isOfApp = answer.reason == "Forbidden" || !Treatment.isKnown(answer.reason)
        appFailuresInARow[topic] = isOfApp ? appFailuresInARow[topic, default: 0] + 1 : nil
        if appFailuresInARow[topic, default: 0] >= Self.appFailuresMax {
            stop(tag, answer)
        } else {
            finish(tag, .failed, answer)
        }
    }

    // MARK: Another connection

    /// Replaces a connection unless it is already draining. Notes the time in ``replacedAt``, unless the connection was
    /// opened before the time that is already noted for the cause.
    private mutating func replace(_ id: Int, for cause: ReplacementCause) {
        guard !isDraining(id), let index = index(of: id) else { return }
        let connection = connections[index]
        if connection.begun >= replacedAt[cause] ?? connection.begun { replacedAt[cause] = moment.now }
        replace(id)
        if !options.failsFast { waitAfter(connection, "waits for another connection after \(cause.text)") }
    }

    /// Whether a newer connection was already tried for this cause, but the push still got this answer.
    ///
    /// If no connection was replaced for this cause, only ``Request/wasRetriedOnce`` counts. Otherwise both of these
    /// must hold:
    ///
    /// - The connection `id` was opened after the time in ``replacedAt``.
    /// - The push was already sent again (``Request/wasRetriedOnce``), or came to the pool before this time.
    private func wasReplaced(for cause: ReplacementCause, before id: Int, _ request: Request) -> Bool {
        guard let replacedAt = replacedAt[cause] else { return request.wasRetriedOnce }
        return connections.contains { $0.id == id && $0.begun >= replacedAt }
            && (request.wasRetriedOnce || request.receivedAt <= replacedAt)
    }

    /// Ends a push for which another connection did not help.
    private mutating func conclude(_ tag: Int, _ end: Treatment.End, _ answer: APNsAnswer) {
        switch end {
        case .stop: stop(tag, answer)
        case .retryLater(.tokenPause): pauseKey(tag, answer)
        case .retryLater(let wait): endAllOfApp(tag) { $0.retryLater($1, wait, answer) }
        }
    }

    private mutating func retryOnce(_ tag: Int, _ answer: APNsAnswer, by id: Int) {
        requests[tag]?.wasRetriedOnce = true
        if pause == nil || !deferPaused(tag) { retry(tag, answer, by: id) }
    }

    // MARK: Retries

    /// Puts a push at the front of ``waiting``. But if the push has come back ``returnsMax`` times, defers the push and
    /// replaces the connection.
    ///
    /// - Parameter answer: Nil if the server did not process the push.
    private mutating func retry(_ tag: Int, _ answer: APNsAnswer?, by id: Int) {
        requests[tag]?.returned += 1
        guard let request = requests[tag], request.returned < Self.returnsMax else {
            giveUpOn(id)
            let reason = answer == nil ? "the server refused the request \(Self.returnsMax) times" : nil
            return retryLater(tag, .briefly, answer, reason: reason)
        }
        waiting.prepend(tag)
    }

    /// Replaces the connection from which a push came back too often. The connection counts as failed, so the waits
    /// before the next connections grow.
    private mutating func giveUpOn(_ id: Int) {
        guard let index = index(of: id), !connections[index].isGivenUp else { return }
        connections[index].isGivenUp = true
        replace(id)
        connectionFailed("\(options.server.hostAndPort) keeps refusing requests")
    }

    /// Defers the push and all waiting pushes. Later pushes of the pool are also deferred, until this push is due again
    /// or APNs accepts a push.
    private mutating func pauseKey(_ tag: Int, _ answer: APNsAnswer) {
        guard let request = requests[tag] else { return }
        actions.append(.keepToken)
        let deferred = deferral(request, .tokenPause, answer, attempts: request.attempts)
        end(tag, deferred)
        guard let until = deferred.until, pause == nil else { return }
        pause = (until, answer)
        while let tag = waiting.popFirst() { deferPaused(tag) }
    }

    /// Defers the push if the key is paused.
    ///
    /// - Returns: Whether the push was deferred.
    @discardableResult
    private mutating func deferPaused(_ tag: Int) -> Bool {
        guard let request = requests[tag], var deferred = pausedAnswer(request.push) else { return false }
        (deferred.attempts, deferred.mayRepeat) = (request.attempts, request.mayRepeat)
        end(tag, deferred)
        return true
    }

    private mutating func retryLater(_ tag: Int, _ wait: Treatment.Wait, _ answer: APNsAnswer?, reason: String? = nil) {
        guard let request = requests[tag] else { return }
        end(tag, deferral(request, wait, answer, reason: reason, attempts: request.attempts))
    }

    /// Retries a request that the server did not process. Such a retry cannot show the push twice (RFC 9113, section
    /// 8.7).
    private mutating func refused(_ tag: Int, by id: Int) {
        endFlight(tag)
        requests[tag]?.attempts -= 1
        retry(tag, nil, by: id)
    }

    /// Defers a push whose request ended without an answer. The server may have processed the request.
    private mutating func broke(_ tag: Int, _ code: HTTP2ErrorCode) {
        endFlight(tag)
        requests[tag]?.mayRepeat = true
        retryLater(tag, .briefly, nil, reason: code == .cancel ? Self.noAnswerCame : "\(Self.reset)\(code.rawValue)")
    }

    /// Replaces a connection on which the server sent GOAWAY.
    ///
    /// - Parameter data: The frame's debug data: JSON with a reason, other text, or no bytes.
    private mutating func goneAway(_ id: Int, _ data: [UInt8]) {
        let said = APNsReason(data)
        let treatment = said.reason.isEmpty ? nil : Treatment(status: 0, reason: said.reason)
        if treatment?.push == .stop { stopAll(said) }
        if treatment?.connection == .refreshToken { actions.append(.replaceExpiredToken) }
        failure = Self.words(said, data) ?? "\(options.server.hostAndPort) sent GOAWAY"
        guard !isDraining(id), let index = index(of: id) else { return }
        let connection = connections[index]
        replace(id)
        if treatment?.connection == .renew { renew() }
        if let failure { waitAfter(connection, failure) }
    }

    private static func words(_ said: APNsReason, _ data: [UInt8]) -> String? {
        guard said.reason.isEmpty else { return said.reason }
        return data.isEmpty ? nil : "GOAWAY: \(String(decoding: data.prefix(200), as: UTF8.self))"
    }

    /// Stops all waiting pushes, because APNs rejects the credential. Otherwise the pool would reconnect for ever.
    private mutating func stopAll(_ reason: APNsReason) {
        stopped = reason
        while let tag = waiting.popFirst() { finish(tag, .stopped, reason: reason.reason) }
    }
}
