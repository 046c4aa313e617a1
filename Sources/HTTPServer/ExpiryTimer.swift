import NIOCore

/// Calls back when a time is over. Moving the deadline back starts no new timer, so it costs little for each request.
/// Belongs to its event loop.
final class ExpiryTimer {
    private let loop: NIOIsolatedEventLoop
    private let action: () -> Void
    private var deadline: NIODeadline?
    private var timer: (scheduled: Scheduled<Void>, at: NIODeadline)?

    init(_ loop: any EventLoop, _ action: @escaping () -> Void) {
        (self.loop, self.action) = (loop.assumeIsolated(), action)
    }

    /// - Parameter time: From now on; nil: without end.
    func set(_ time: Duration?) {
        deadline = time.map { .now() + TimeAmount($0) }
        guard let deadline else { return }
        if let timer, timer.at <= deadline { return }
        timer?.scheduled.cancel()
        start(deadline)
    }

    func cancel() {
        timer?.scheduled.cancel()
        (timer, deadline) = (nil, nil)
    }

    private func start(_ deadline: NIODeadline) {
        timer = (loop.scheduleTask(deadline: deadline) { self.look() }, deadline)
    }

    private func look() {
        timer = nil
        guard let deadline else { return }
        if deadline <= .now() { action() } else { start(deadline) }
    }
}
