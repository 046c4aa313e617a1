import Dispatch
import RecordStore
import Synchronization

/// Threads for work that may take long: queries, reads of changes, and the files of assets. Swift's tasks share only as
/// many threads as the machine has cores. On those threads, a few long requests would delay all other requests.
final class ReadThreads: TaskExecutor {
    /// One reader of the store stays free for requests that take little time.
    static let count = RecordStore.readersMax - 1

    private let queues = (0..<count).map { DispatchQueue(label: "belfry.api.reads.\($0)") }
    /// The number of jobs of each queue that have not ended.
    private let loads = Mutex([Int](repeating: 0, count: count))

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let index = loads.withLock { loads in
            let index = loads.indices.min { loads[$0] < loads[$1] } ?? 0
            loads[index] += 1
            return index
        }
        queues[index].async { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
            loads.withLock { $0[index] -= 1 }
        }
    }

    /// Runs `body` on one of the threads.
    func run<Value: Sendable>(
        _ body: @Sendable () throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        let result = await withTaskExecutorPreference(self) { () async -> Result<Value, ServiceError> in
            do throws(ServiceError) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
