import EventLog
import Synchronization

/// The home of a stage's logs once it was opened.
final class OpenedHome: Sendable {
    private let home = Mutex<(any LogHome)?>(nil)

    /// The home that was opened last; nil if there is none.
    var current: (any LogHome)? { home.withLock { $0 } }

    /// The open home. Calls `open` if there is none, or if it was interrupted.
    func get(_ open: () throws -> any LogHome) throws -> any LogHome {
        try home.withLock { home in
            if let home, !home.isInterrupted { return home }
            let new = try open()
            home = new
            return new
        }
    }
}
