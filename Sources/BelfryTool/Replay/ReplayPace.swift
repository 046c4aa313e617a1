import Foundation
import Synchronization
import Time

/// Makes a replay wait as long between events as the recorded pipeline did, or a fraction of it.
final class ReplayPace: Sendable {
    private let speed: Double?
    private let last = Mutex<Instant?>(nil)

    /// - Parameter speed: 1 for the recorded speed, 10 for ten times faster; nil to not wait at all.
    init(speed: Double?) { self.speed = speed }

    /// Blocks the thread.
    func wait(until now: Instant) {
        let before = last.withLock { last in
            defer { last = now }
            return last
        }
        guard let speed, let before, now > before else { return }
        Thread.sleep(forTimeInterval: (now - before) / .seconds(1) / speed)
    }
}
