import Glibc
import JSON
import Time

/// How long a host was away from its sockets: the longest turns of its loop, by what took most of each.
struct PauseMeter {
    enum Cause: Int, CaseIterable {
        /// Taking input in, and appending what came of it.
        case input
        /// Serving those who read the stage's log.
        case consumers
        /// Making a snapshot in the stage itself.
        case snapshot
        /// Beginning a segment of the log.
        case segment
        /// Removing what is too old.
        case retention
        /// Putting aside what the stage could not use.
        case deadLetters

        var name: StaticString {
            switch self {
            case .input: "input"
            case .consumers: "consumers"
            case .snapshot: "snapshot"
            case .segment: "segment"
            case .retention: "retention"
            case .deadLetters: "dead_letters"
            }
        }
    }

    struct Pause: Hashable {
        var cause: Cause
        var duration: Duration
        /// What of it the thread had a processor for.
        var processor: Duration
    }

    private let steady: @Sendable () -> ContinuousClock.Instant
    private var lapStart: ContinuousClock.Instant
    private var processorStart = Duration.zero
    /// By cause.
    private var spent = [Duration](repeating: .zero, count: Cause.allCases.count)
    private var longest = [Pause?](repeating: nil, count: Cause.allCases.count)

    init(_ steady: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.steady = steady
        lapStart = steady()
    }

    /// The longest of each cause, since the start or ``forget()``.
    var pauses: [Pause] { longest.compactMap(\.self) }

    mutating func forget() { longest = longest.map { _ in nil } }

    /// A turn begins.
    mutating func begin() {
        for index in spent.indices { spent[index] = .zero }
        processorStart = PauseMeter.processorTime
        lapStart = steady()
    }

    /// What was done since the turn began, or since the last call, had that cause.
    mutating func lap(_ cause: Cause) {
        let now = steady()
        spent[cause.rawValue] += now - lapStart
        lapStart = now
    }

    /// The turn is over.
    mutating func end() {
        let duration = spent.reduce(.zero, +)
        guard let most = spent.indices.max(by: { spent[$0] < spent[$1] }), let cause = Cause(rawValue: most),
            duration > longest[most]?.duration ?? .zero
        else { return }
        longest[most] = Pause(cause: cause, duration: duration, processor: PauseMeter.processorTime - processorStart)
    }

    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

extension PauseMeter.Pause {
    func write(to buffer: inout ByteBuffer) {
        buffer.object {
            $0.append("cause", word: cause.name)
            $0.append("microseconds", duration.wholeMicroseconds)
            $0.append("processorMicroseconds", processor.wholeMicroseconds)
        }
    }
}
