import Synchronization

/// What all connections of a server share.
final class ServerState: Sendable {
    let options: WebServerOptions
    let responder: WebServer.Responder
    let bodies: HeldBodies
    let answers: HeldBodies
    let openConnections: OpenConnections
    let tasks = ResponderTasks()

    init(_ options: WebServerOptions, _ responder: @escaping WebServer.Responder) {
        (self.options, self.responder) = (options, responder)
        (bodies, answers) = (.ofRequests(options.limits), .ofAnswers(options.limits))
        openConnections = OpenConnections(options)
    }
}

/// Counts the tasks that make answers.
final class ResponderTasks: Sendable {
    private struct State {
        var count = 0
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func begin() { state.withLock { $0.count += 1 } }

    func end() {
        state.withLock { state in
            state.count -= 1
            return state.count == 0 ? state.waiting.take() : nil
        }?.resume()
    }

    /// Returns when no task runs. Only one task may wait at a time.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                guard state.count > 0 else { return true }
                state.waiting = continuation
                return false
            }
            if isDone { continuation.resume() }
        }
    }
}
