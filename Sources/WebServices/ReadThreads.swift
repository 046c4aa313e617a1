import Dispatch
import RecordStore
import Synchronization

/// Threads for work that may take long: queries, reads of changes, and the files of assets. Swift's tasks share only as
/// many threads as the machine has cores. On those threads, a few long requests would delay all other requests.
final class ReadThreads: Sendable {
    /// One less than the reads that the store allows at once. The remaining read is for requests that take little time,
    /// which do not use these threads.
    static let count = RecordStore.readersMax - 1
    /// One reader may occupy all threads but one. The last thread stays free for other readers, because a read of ten
    /// seconds is not interrupted for them.
    static let countForOneReader = count - 1
    /// How long a read may occupy a thread.
    static let timeMax = Duration.seconds(10)
    /// How long a read may occupy a thread in all, if its client has closed the sending side of its connection. The
    /// client has probably gone, but some clients, such as `nc -N`, still wait for the answer.
    static let timeMaxWithoutClient = Duration.milliseconds(200)

    typealias Time = ContinuousClock.Instant
    private typealias Job = @Sendable () -> Void

    private struct State {
        var queue = ReadQueue<Job>(runningMax: countForOneReader)
        /// The threads without a job.
        var idle = Array(0..<count)
    }

    private let threads = (0..<count).map { DispatchQueue(label: "belfry.api.reads.\($0)") }
    private let state = Mutex(State())
    /// When all reads must end; nil while the gateway runs.
    private let end = Mutex<Time?>(nil)
    private let now: @Sendable () -> Time

    /// - Parameter now: The time by a monotonic clock.
    init(now: @escaping @Sendable () -> Time = { .now }) { self.now = now }

    /// After `rest`, ends the reads that are not done, and refuses new reads.
    func stop(within rest: Duration) {
        let time = now() + rest
        end.withLock { $0 = $0 ?? time }
    }

    /// Runs `body` on one of the threads, when it is the reader's turn.
    ///
    /// - Parameters:
    ///   - whenClientIsGone: Calls its argument when the client disconnects or closes its sending side.
    ///   - body: Gets the limit for its reads of the store.
    func run<Value: Sendable>(
        for reader: Reader, whenClientIsGone: (@escaping @Sendable () -> Void) -> Void = { _ in },
        _ body: @escaping @Sendable (ReadLimit) throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        let client = ClientPresence()
        whenClientIsGone { client.isGone.store(true, ordering: .relaxed) }
        let result = await withCheckedContinuation { continuation in
            add(reader) { [self] in
                let limit = limit(client)
                continuation.resume(
                    returning: Result { () throws(ServiceError) -> Value in
                        if limit.stop() != nil { throw ServiceError(.cancelled) }
                        return try body(limit)
                    })
            }
        }
        return try result.get()
    }

    private final class ClientPresence: Sendable {
        let isGone = Atomic(false)
    }

    /// The limit of a read that begins now.
    private func limit(_ client: ClientPresence) -> ReadLimit {
        let start = now()
        return ReadLimit { [self] in
            let now = now()
            if let end = end.withLock(\.self), now >= end { return .cancelled }
            let time = now - start
            if time >= Self.timeMaxWithoutClient, client.isGone.load(ordering: .relaxed) { return .cancelled }
            return time >= Self.timeMax ? .tookTooLong : nil
        }
    }

    // MARK: Jobs

    private func add(_ reader: Reader, _ job: @escaping Job) {
        let begun = state.withLock { state -> (thread: Int, next: (job: Job, reader: Reader))? in
            state.queue.add(job, of: reader)
            guard let thread = state.idle.last, let next = state.queue.next() else { return nil }
            state.idle.removeLast()
            return (thread, next)
        }
        guard let begun else { return }
        threads[begun.thread].async { [self] in runJobs(begun.next, begun.thread) }
    }

    /// Runs this job, then waiting jobs, until none of them may begin.
    private func runJobs(_ first: (job: Job, reader: Reader), _ thread: Int) {
        var current: (job: Job, reader: Reader)? = first
        while let (job, reader) = current {
            job()
            current = state.withLock { state in
                state.queue.end(of: reader)
                let next = state.queue.next()
                if next == nil { state.idle.append(thread) }
                return next
            }
        }
    }
}
