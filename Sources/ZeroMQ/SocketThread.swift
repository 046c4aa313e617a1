import CZeroMQ
import Glibc

/// Runs code that blocks, for example in libzmq, on threads of its own, away from Swift's cooperative pool.
package enum SocketThread {
    static let stackBytes = 8 << 20

    /// Runs `body` on a new thread. Returns the result of `body`, or throws its error.
    ///
    /// The caller is suspended, not blocked. Cancelling the caller's task does not stop `body`: use a ``WakeSignal`` or
    /// ``ZMQContext/shutdown()`` in a cancellation handler.
    ///
    /// - Parameter name: The thread's name. Debuggers and `ps -L` show its first 15 bytes.
    /// - Throws: ``ZMQError`` with `EAGAIN` when the system allows no more threads.
    package static func run<R: Sendable>(
        name: String, _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            do throws(ZMQError) {
                let thread = try start(name: name) { continuation.resume(with: Result(catching: body)) }
                pthread_detach(thread)
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Starts a thread that the caller joins or detaches.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) throws(ZMQError) -> pthread_t {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setstacksize(&attributes, stackBytes)
        let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
        var thread = pthread_t()
        let code = unsafe pthread_create(&thread, &attributes, { unsafe runThread($0) }, unsafe start.toOpaque())
        guard code == 0 else {
            unsafe start.release()
            throw ZMQError(code: code, operation: "start thread \(name)")
        }
        return thread
    }
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    // Linux: a name has at most 16 bytes with the final 0 (pthread_setname_np).
    unsafe pthread_setname_np(pthread_self(), String(decoding: start.name.utf8.prefix(15), as: UTF8.self))
    start.body()
    return nil
}
