import NIOCore

/// Calls back at a deadline. Moving the deadline to a later time starts no new timer, so it costs little for each
/// request. Only its event loop may use it.
final class ExpiryTimer {
    private let loop: NIOIsolatedEventLoop
    private let action: () -> Void
    private var deadline: NIODeadline?
    private var timer: (scheduled: Scheduled<Void>, at: NIODeadline)?

    init(_ loop: any EventLoop, _ action: @escaping () -> Void) {
        (self.loop, self.action) = (loop.assumeIsolated(), action)
    }

    /// - Parameter time: How long from now; nil for no deadline.
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
        timer = (loop.scheduleTask(deadline: deadline) { self.checkDeadline() }, deadline)
    }

    private func checkDeadline() {
        timer = nil
        guard let deadline else { return }
        if deadline <= .now() { action() } else { start(deadline) }
    }
}
