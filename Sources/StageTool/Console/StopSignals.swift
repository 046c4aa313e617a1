import Foundation
import Synchronization

/// Tells of SIGINT and SIGTERM, and of SIGHUP where it is asked for, in place of ending the process.
///
/// A handler is installed, not `SIG_IGN`: programs that this one starts get their own defaults back.
package enum StopSignals {
    /// From now until the process ends.
    ///
    /// - Parameter body: Called on a thread of its own, with the signal's number and how many came before it.
    package static func watch(
        _ signals: [Int32] = [SIGINT, SIGTERM], _ body: @escaping @Sendable (_ signal: Int32, _ earlier: Int) -> Void
    ) {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "a new process has room for a pipe")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        signalPipe.store(ends[1], ordering: .releasing)
        Thread.detachNewThread { [readEnd = ends[0]] in pass(from: readEnd, to: body) }
        for number in signals { install(number) }
    }

    /// What to say when the first one comes.
    package static func announcement(_ number: Int32) -> String {
        number == SIGINT ? "stopping; once more (Ctrl-C) kills" : "stopping"
    }

    package static func ignore(_ number: Int32) { signal(number, SIG_IGN) }

    /// Takes a signal that would end the process and does nothing: the call that raised it fails by itself.
    package static func outlive(_ number: Int32) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        action.sa_flags = SA_RESTART
        sigaction(number, &action, nil)
    }

    private static func pass(from readEnd: Int32, to body: (Int32, Int) -> Void) {
        var number: UInt8 = 0
        var earlier = 0
        while true {
            let count = read(readEnd, &number, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return }
            body(Int32(number), earlier)
            earlier += 1
        }
    }

    private static func install(_ number: Int32) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { number in
            var byte = UInt8(truncatingIfNeeded: number)
            write(signalPipe.load(ordering: .acquiring), &byte, 1)
        }
        action.sa_flags = SA_RESTART
        sigaction(number, &action, nil)
    }
}

/// A signal handler can reach nothing but globals.
private let signalPipe = Atomic<Int32>(-1)
