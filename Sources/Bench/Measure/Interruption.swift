import ArgumentParser
import Foundation
import Synchronization

/// Lets a measurement end early and in order: children stopped, folders removed. A second signal does not wait.
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

    var isAsked: Bool { signal.load(ordering: .relaxed) != 0 }

    /// - Throws: `ExitCode` as shells report a signal, once there was one.
    func check() throws {
        let number = signal.load(ordering: .relaxed)
        if number != 0 { throw ExitCode(128 + number) }
    }
}
