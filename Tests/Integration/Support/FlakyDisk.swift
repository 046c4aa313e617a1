import EventLog
import Glibc
import Synchronization
import TestSupport

/// A disk that is full at random times. A write then stops in its middle, and the next one to three writes fail.
final class FlakyDisk: Sendable {
    private struct State {
        var random: Seeded
        var failing = 0
        var shortages = 0
        var isOn = false
    }

    private let state: Mutex<State>
    private let every: Int
    private let shortagesMax: Int

    /// - Parameter every: The average number of writes between two shortages.
    init(seed: UInt64, every: Int, shortagesMax: Int) {
        state = Mutex(State(random: Seeded(seed)))
        (self.every, self.shortagesMax) = (every, shortagesMax)
    }

    /// Turns shortages on or off. Stages must start while shortages are off.
    func turnShortages(on isOn: Bool) { state.withLock { $0.isOn = isOn } }

    /// How often the disk was full.
    var shortages: Int { state.withLock { $0.shortages } }

    var calls: FileCalls {
        var calls = FileCalls()
        let real = calls.write
        calls.write = { [self] file, parts, count, offset in
            switch nextResult() {
            case .whole: return real(file, parts, count, offset)
            case .part where parts[0].iov_len > 1: return pwrite(file, parts[0].iov_base, parts[0].iov_len / 2, offset)
            case .part, .none:
                errno = ENOSPC
                return -1
            }
        }
        return calls
    }

    private enum WriteResult { case whole, part, none }

    private func nextResult() -> WriteResult {
        state.withLock { state in
            guard state.isOn else { return .whole }
            if state.failing > 0 {
                state.failing -= 1
                return .none
            }
            guard state.shortages < shortagesMax, state.random.below(every) == 0 else { return .whole }
            state.shortages += 1
            state.failing = 1 + state.random.below(3)
            return .part
        }
    }
}
