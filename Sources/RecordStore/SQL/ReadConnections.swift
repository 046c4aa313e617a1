import Dispatch
import GRDB
import Synchronization

/// The connections with which threads read a store. They are opened when they are first needed.
///
/// GRDB's own pool takes several times longer than a lookup of one record: it changes queues and prepares new
/// statements for each read.
final class ReadConnections: Sendable {
    private struct State {
        var idle: [ReadConnection] = []
        var isClosed = false
    }

    private let path: String
    private let state = Mutex(State())
    /// Counts the further reads that may begin now.
    private let places: DispatchSemaphore

    /// - Parameter max: How many threads read at once. Further threads wait.
    init(path: String, max: Int) {
        self.path = path
        places = DispatchSemaphore(value: max)
    }

    /// Gives `body` one state of the store.
    ///
    /// - Throws: `DatabaseError` if SQLite fails, or if the connections are closed; ``ReadStop`` if the limit stops the
    ///   read; the errors of `body`.
    func read<Value>(within limit: ReadLimit = .none, _ body: (ReadConnection) throws -> Value) throws -> Value {
        places.wait()
        defer { places.signal() }
        let connection = try take()
        // After an error of SQLite a transaction may still be open. Such a connection is not used again.
        do {
            let value = try connection.read(within: limit, body)
            put(connection)
            return value
        } catch {
            if !(error is DatabaseError) { put(connection) }
            throw error
        }
    }

    /// Closes the connections. If a read is in progress, it continues, and its connection is closed when the read ends.
    func close() {
        state.withLock { state in (state.isClosed, state.idle) = (true, []) }
    }

    private func take() throws -> ReadConnection {
        let idle = try state.withLock { state in
            guard !state.isClosed else {
                throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the store is closed")
            }
            return state.idle.popLast()
        }
        return try idle ?? ReadConnection(path: path)
    }

    private func put(_ connection: ReadConnection) {
        state.withLock { state in
            if !state.isClosed { state.idle.append(connection) }
        }
    }
}
