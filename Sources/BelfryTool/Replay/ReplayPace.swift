import Foundation
import Synchronization
import Time

/// Makes a replay wait between pushes for the time that the logs record between them, divided by a speed.
final class ReplayPace: Sendable {
    private let speed: Double?
    private let last = Mutex<Instant?>(nil)

    /// - Parameter speed: 1 for the recorded speed, 10 for ten times faster; nil for no waiting.
    init(speed: Double?) { self.speed = speed }

    /// Blocks the thread for the time from the previous call's `now` to this `now`, divided by the speed.
    func waitForGap(before now: Instant) {
        let before = last.withLock { last in
            defer { last = now }
            return last
        }
        guard let speed, let before, now > before else { return }
        Thread.sleep(forTimeInterval: (now - before) / .seconds(1) / speed)
    }
}
