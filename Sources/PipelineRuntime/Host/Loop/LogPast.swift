import EventLog
import PipelineKit
import Synchronization

/// Reads a stage's earlier events from its log.
package final class LogPast: PastEvents {
    private let directory: String
    private let lookup: Mutex<EventLookup>
    private let failure = Mutex<(any Error)?>(nil)

    /// - Parameter directory: The log's own folder.
    package init(directory: String) {
        self.directory = directory
        lookup = Mutex(EventLookup(directory: directory))
    }

    package func read(_ sequence: UInt64, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        do {
            guard let line = try line(sequence) else {
                throw RebuildError.missingEvent(log: directory, sequence: sequence)
            }
            line.withUnsafeBytes(body)
            return true
        } catch {
            failure.withLock { $0 = $0 ?? error }
            return false
        }
    }

    /// Remembers the place of a batch that was just appended to the log.
    func note(_ batch: AppendedBatch) { lookup.withLock { $0.note(batch) } }

    private func line(_ sequence: UInt64) throws(EventLogError) -> [UInt8]? {
        try lookup.withLock { lookup throws(EventLogError) in try lookup.read(sequence) { Array($0) } }
    }

    /// Throws the first failure to read an event. The outputs since that failure must not be appended.
    func check() throws {
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}
