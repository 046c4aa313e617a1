import Foundation
import Synchronization
import Time

/// Lets as much time pass between two moments of a replay as passed when they were recorded, or a part of it.
final class ReplayPace: Sendable {
    private let speed: Double?
    private let last = Mutex<Instant?>(nil)

    /// - Parameter speed: 1 as it was, 10 ten times faster; nil: no time passes.
    init(speed: Double?) { self.speed = speed }

    /// Blocks: for a thread that is the replay's own.
    func hold(until now: Instant) {
        let before = last.withLock { last in
            defer { last = now }
            return last
        }
        guard let speed, let before, now > before else { return }
        Thread.sleep(forTimeInterval: (now - before) / .seconds(1) / speed)
    }
}
