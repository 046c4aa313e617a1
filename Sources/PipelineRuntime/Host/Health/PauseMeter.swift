import Glibc
import JSON
import Time

/// Measures the turns of a host's loop. A message that comes during a turn may have to wait for the next turn, so each
/// turn is a pause for its sender. The meter keeps the longest turn for each cause. The cause of a turn is the kind of
/// work that took the most time in this turn.
struct PauseMeter {
    enum Cause: String, CaseIterable {
        /// Taking input and answers, waking the stage, and appending the outputs.
        case input
        /// Serving the readers of the stage's log.
        case consumers
        /// Making a snapshot on the host's thread.
        case snapshot
        /// Beginning a segment of the log.
        case segment
        case retention
        case deadLetters = "dead_letters"
    }

    struct Pause: Hashable {
        var cause: Cause
        var duration: Duration
        /// The processor time that the thread used during the pause.
        var processor: Duration
    }

    private let monotonicNow: @Sendable () -> ContinuousClock.Instant
    private var lapStart: ContinuousClock.Instant
    private var processorStart = Duration.zero
    private var spent: [Cause: Duration] = [:]
    private var longest: [Cause: Pause] = [:]

    init(_ monotonicNow: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.monotonicNow = monotonicNow
        lapStart = monotonicNow()
    }

    /// The longest pause of each cause, since the start or ``forget()``.
    var pauses: [Pause] { Cause.allCases.compactMap { longest[$0] } }

    mutating func forget() { longest = [:] }

    mutating func begin() {
        spent.removeAll(keepingCapacity: true)
        processorStart = PauseMeter.processorTime
        lapStart = monotonicNow()
    }

    /// Attributes the time since the last call, or since the turn began, to a cause.
    mutating func lap(_ cause: Cause) {
        let now = monotonicNow()
        spent[cause, default: .zero] += now - lapStart
        lapStart = now
    }

    mutating func end() {
        let duration = spent.values.reduce(.zero, +)
        guard let cause = Cause.allCases.max(by: { spent[$0] ?? .zero < spent[$1] ?? .zero }),
            duration > longest[cause]?.duration ?? .zero
        else { return }
        longest[cause] = Pause(cause: cause, duration: duration, processor: PauseMeter.processorTime - processorStart)
    }

    /// The calling thread's processor time.
    static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

extension PauseMeter.Pause {
    func write(to buffer: inout ByteBuffer) {
        buffer.object {
            $0.append("cause", cause.rawValue)
            $0.append("microseconds", duration.wholeMicroseconds)
            $0.append("processorMicroseconds", processor.wholeMicroseconds)
        }
    }
}
