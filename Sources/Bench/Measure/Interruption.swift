import ArgumentParser
import Foundation
import Synchronization

/// Ends a bench early on SIGINT or SIGTERM: the bench stops its processes, and removes its temporary folder unless the
/// user wants to keep the folder. A second signal ends this process at once.
final class Interruption: Sendable {
    private let signal = Atomic<Int32>(0)

    static func watch() -> Interruption {
        let interruption = Interruption()
        StopSignals.watch { number, earlier in
            if earlier > 0 { _exit(128 + number) }
            interruption.signal.store(number, ordering: .relaxed)
        }
        return interruption
    }

    var isRequested: Bool { signal.load(ordering: .relaxed) != 0 }

    /// - Throws: After a signal, the `ExitCode` that shells report for it.
    func check() throws {
        let number = signal.load(ordering: .relaxed)
        if number != 0 { throw ExitCode(128 + number) }
    }
}
