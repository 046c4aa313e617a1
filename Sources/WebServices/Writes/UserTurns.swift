import RecordStore
import Synchronization

/// Lets the requests of one user run one after the other, in the order in which they came. The requests of different
/// users do not wait for each other.
final class UserTurns: Sendable {
    private struct Waiting {
        let number: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// The waiting requests of each user. A user has an entry while one of the user's requests runs.
    private let queues = Mutex<[AccountID: [Waiting]]>([:])
    private let lastNumber = Atomic(0)

    /// Waits for the user's turn, but at most until `deadline`, and runs `body`.
    ///
    /// - Throws: `TRY_AGAIN_LATER` if the turn did not come.
    func run<Result>(
        of user: AccountID, until deadline: ContinuousClock.Instant, _ body: () async throws(ServiceError) -> Result
    ) async throws(ServiceError) -> Result {
        guard await begin(user, until: deadline) else {
            throw ServiceError(
                .tryAgainLater, "the request was not made: other requests of the user did not end in time",
                retryAfter: 1)
        }
        defer { end(user) }
        return try await body()
    }

    /// - Returns: False if the turn did not come.
    private func begin(_ user: AccountID, until deadline: ContinuousClock.Instant) async -> Bool {
        let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        let timer = Task {
            try await Task.sleep(until: deadline)
            giveUp(number, of: user)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let hasTurn = queues.withLock { queues -> Bool? in
                guard queues[user] != nil else {
                    queues[user] = []
                    return true
                }
                guard .now < deadline else { return false }
                queues[user]?.append(Waiting(number: number, continuation: continuation))
                return nil
            }
            if let hasTurn { continuation.resume(returning: hasTurn) }
        }
    }

    private func end(_ user: AccountID) {
        let next = queues.withLock { queues -> Waiting? in
            guard let next = queues[user]?.first else {
                queues[user] = nil
                return nil
            }
            queues[user]?.removeFirst()
            return next
        }
        next?.continuation.resume(returning: true)
    }

    private func giveUp(_ number: Int, of user: AccountID) {
        let waiting = queues.withLock { queues -> Waiting? in
            guard let index = queues[user]?.firstIndex(where: { $0.number == number }) else { return nil }
            return queues[user]?.remove(at: index)
        }
        waiting?.continuation.resume(returning: false)
    }
}
