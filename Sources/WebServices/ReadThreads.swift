import Foundation
import RecordStore

/// Threads for work that may take long: queries that look at all records of a type, and the files of assets. Tasks
/// share only as many threads as the machine has cores, so one such request would delay all others there.
final class ReadThreads: TaskExecutor {
    /// One reader of the store stays free for requests that take little time.
    static let count = RecordStore.readersMax - 1

    private let queue = OperationQueue()

    init() { queue.maxConcurrentOperationCount = ReadThreads.count }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.addOperation { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
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
