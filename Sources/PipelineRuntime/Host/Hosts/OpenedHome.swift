import EventLog
import Synchronization

/// The home of a stage's logs once it was opened.
final class OpenedHome: Sendable {
    private let home = Mutex<(any LogHome)?>(nil)

    /// The newest home, even if it was interrupted. Nil before the first call of ``get(_:)``.
    var current: (any LogHome)? { home.withLock { $0 } }

    /// Returns the newest home. Before that, opens a new one if there is no home yet, or if the newest was interrupted.
    ///
    /// - Parameter open: Opens a home.
    func get(_ open: () throws -> any LogHome) throws -> any LogHome {
        try home.withLock { home in
            if let home, !home.isInterrupted { return home }
            let new = try open()
            home = new
            return new
        }
    }
}
