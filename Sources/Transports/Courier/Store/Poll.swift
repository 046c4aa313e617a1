import Foundation
import NIOCore

/// A client that waits for its device's next notification.
struct Poll: Sendable {
    enum Answer: Sendable {
        case notification(Data)
        /// The poll timed out, the client disconnected, a newer poll of the device took the place of this poll, or the
        /// courier closes.
        case nothing
        case unknownToken
        case tooMany
        case failed(String)
    }

    let token: CourierToken
    private let promise: EventLoopPromise<Answer>

    init(_ token: CourierToken, on loop: any EventLoop) {
        self.token = token
        promise = loop.makePromise()
    }

    var answer: EventLoopFuture<Answer> { promise.futureResult }

    /// Call this once. If the poll waits in ``WaitingPolls``, only the code that removes it from there may end it.
    func end(_ answer: Answer) { promise.succeed(answer) }

    static func === (left: Poll, right: Poll) -> Bool { left.answer === right.answer }
}

/// The waiting polls of each token, oldest first.
struct WaitingPolls {
    private var byToken: [CourierToken: [Poll]] = [:]
    private(set) var count = 0

    subscript(token: CourierToken) -> [Poll] { byToken[token] ?? [] }

    var isFull: Bool { count >= CourierLimits.pollsMax }

    /// - Returns: The poll that was removed to make room; nil if there was room.
    mutating func add(_ poll: Poll) -> Poll? {
        let oldest = self[poll.token].count < CourierLimits.pollsPerDeviceMax ? nil : takeFirst(1, of: poll.token).first
        byToken[poll.token, default: []].append(poll)
        count += 1
        return oldest
    }

    mutating func takeFirst(_ number: Int, of token: CourierToken) -> [Poll] {
        let polls = self[token]
        let rest = Array(polls.dropFirst(number))
        byToken[token] = rest.isEmpty ? nil : rest
        count -= polls.count - rest.count
        return Array(polls.prefix(number))
    }

    /// - Returns: Whether the poll was waiting.
    mutating func remove(_ poll: Poll) -> Bool {
        let rest = self[poll.token].filter { !($0 === poll) }
        guard rest.count < self[poll.token].count else { return false }
        byToken[poll.token] = rest.isEmpty ? nil : rest
        count -= 1
        return true
    }

    mutating func takeAll() -> [Poll] {
        defer { self = WaitingPolls() }
        return byToken.values.flatMap { $0 }
    }
}
