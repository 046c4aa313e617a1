import Foundation

/// Blocking work that runs on a thread of its own from the beginning, while the test blocks too. A task would wait
/// until one of the few threads on which Swift runs tasks is free.
package final class BackgroundThread<Value: Sendable>: Sendable {
    private let results: AsyncStream<Value>

    package init(_ work: @escaping @Sendable () -> Value) {
        let (results, result) = AsyncStream.makeStream(of: Value.self)
        self.results = results
        Thread.detachNewThread {
            result.yield(work())
            result.finish()
        }
    }

    /// What the work returned. May be read once.
    package var value: Value? {
        get async { await results.first { _ in true } }
    }
}
