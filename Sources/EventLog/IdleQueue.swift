import Dispatch
import Glibc

/// Does one piece of work after the other, each on a thread that runs while nobody else wants the processor.
final class IdleQueue: SyncQueue {
    private let queue = DispatchQueue(label: "belfry.idle")

    func later(after delay: Duration, _ work: @escaping @Sendable () -> Void) { queue.later(after: delay, work) }

    func later(whileIdle work: @escaping @Sendable () -> Void, then next: @escaping @Sendable () -> Void) {
        queue.later(after: .zero) {
            IdleThread.run(work)
            next()
        }
    }

    func now(_ work: () -> Void) { queue.now(work) }
}

/// A thread that has given up its share of the processor cannot ask for it again: so each piece of work has its own.
private final class IdleThread: Sendable {
    private let body: @Sendable () -> Void

    private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Returns when the work is done. Where there can be no more threads, this one does it.
    static func run(_ body: @escaping @Sendable () -> Void) {
        let start = Unmanaged.passRetained(IdleThread(body))
        var thread = pthread_t()
        guard pthread_create(&thread, nil, { idleThread($0) }, start.toOpaque()) == 0 else {
            start.release()
            return body()
        }
        pthread_join(thread, nil)
    }

    func run() {
        var parameters = sched_param()
        // Linux: 0 is the calling thread (sched_setscheduler(2)); where it is refused, the thread is merely a usual one.
        _ = sched_setscheduler(0, IdleThread.schedIdle, &parameters)
        body()
    }

    /// `SCHED_IDLE` of `<linux/sched.h>`.
    private static let schedIdle: CInt = 5
}

private func idleThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<IdleThread>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
