import Foundation
import JSON
import NIOCore

/// Answers requests; knows nothing of sockets.
struct Service: Sendable {
    let storeQueue: CourierStoreQueue
    let pollTimeout: TimeAmount

    /// - Parameter isGone: Succeeds when the client is not there any more.
    func answer(_ route: Route, on loop: any EventLoop, isGone: EventLoopFuture<Void>) -> EventLoopFuture<HTTPAnswer> {
        switch route {
        case .poll(let token): poll(token, on: loop, isGone: isGone)
        case .fetch(let token, let since, let limit):
            loop.answer { try await fetch(token, since: since, limit: limit) }
        case .markRead(let token, let ids): loop.answer { try await markRead(ids, token) }
        case .preflight: loop.makeSucceededFuture(HTTPAnswer(status: .noContent, body: Data()))
        }
    }

    // MARK: Polls

    /// A device that registers may ask before its registration has come this far: it has a moment's grace.
    private func poll(
        _ token: CourierToken, on loop: any EventLoop, isGone: EventLoopFuture<Void>,
        patience: TimeAmount = CourierLimits.registrationWait
    ) -> EventLoopFuture<HTTPAnswer> {
        hold(Poll(token, on: loop), on: loop, isGone: isGone).flatMap { answer in
            guard case .unknownToken = answer, patience > .zero else {
                return loop.makeSucceededFuture(HTTPAnswer(answer))
            }
            return loop.scheduleTask(in: CourierLimits.registrationPause) {}.futureResult.flatMap {
                poll(token, on: loop, isGone: isGone, patience: patience - CourierLimits.registrationPause)
            }
        }
    }

    private func hold(
        _ poll: Poll, on loop: any EventLoop, isGone: EventLoopFuture<Void>
    ) -> EventLoopFuture<Poll.Answer> {
        let (storeQueue, end) = (storeQueue, { @Sendable (courierStore: CourierStore) in courierStore.end(poll) })
        storeQueue.tell({ $0.begin(poll, now: $1) }, orElse: { poll.end(.failed("the courier is closed")) })
        let timeout = loop.scheduleTask(in: pollTimeout) { storeQueue.tell { courierStore, _ in end(courierStore) } }
        isGone.whenComplete { _ in storeQueue.tell { courierStore, _ in end(courierStore) } }
        poll.answer.whenComplete { _ in timeout.cancel() }
        return poll.answer
    }

    // MARK: Inboxes

    /// - Parameter isRetry: Whether the store was just made again.
    private func fetch(
        _ token: CourierToken, since: ChangeToken?, limit: Int, isRetry: Bool = false
    ) async throws -> HTTPAnswer {
        guard let inbox = try await storeQueue.ask({ try $0.inbox(of: token, now: $1) }) else { return .closed }
        guard let inbox else { return .unknownToken }
        if let since, !since.isWithin(inbox.end) { return .expired(isOfThisLog: since.log == inbox.end.log) }
        do {
            return .json(
                try await storeQueue.read {
                    try inbox.pages.read { db in
                        try InboxPage.json(
                            db, account: inbox.account, since: since, log: inbox.end.log, entriesMax: limit)
                    }
                })
        } catch let error where error.isDamage && !isRetry {
            _ = try await storeQueue.ask { try $0.replaceStore($1) }
            return try await fetch(token, since: since, limit: limit, isRetry: true)
        }
    }

    private func markRead(_ ids: [String], _ token: CourierToken) async throws -> HTTPAnswer {
        guard let known = try await storeQueue.ask({ try $0.markRead(ids, token: token, now: $1) }) else {
            return .closed
        }
        guard let unknown = known else { return .unknownToken }
        let read = ids.filter { !unknown.contains($0) }
        let json = ByteBuffer.object {
            $0.append("notificationIDs", read)
            $0.append("unknown", unknown)
        }
        return .json(json.bytes)
    }
}

extension HTTPAnswer {
    // CloudKit: CKError.changeTokenExpired, upon which a client fetches anew.
    fileprivate static func expired(isOfThisLog: Bool) -> HTTPAnswer {
        let cause = isOfThisLog ? "is ahead of the log, which has not given it" : "is of another log"
        return refusal(.gone, "token.expired", "the change token \(cause): fetch without since")
    }
}

extension EventLoop {
    /// The answer of a task; an error is 503 with its reason.
    fileprivate func answer(_ work: @escaping @Sendable () async throws -> HTTPAnswer) -> EventLoopFuture<HTTPAnswer> {
        makeFutureWithTask(work).flatMapErrorThrowing { .unavailable("\($0)") }
    }
}
