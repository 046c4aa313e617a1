import EventLog
import Foundation
import Synchronization

/// Handles signals that would otherwise end or suspend the process.
///
/// Uses handlers instead of `SIG_IGN`, except in ``ignore(_:)``, so that child processes start with the default
/// actions.
package enum StopSignals {
    /// Calls `body` for each signal until the process ends.
    ///
    /// - Parameter body: Called on a thread of its own, with the signal and with how many signals came before it.
    package static func watch(
        _ signals: [Int32] = [SIGINT, SIGTERM], _ body: @escaping @Sendable (_ signal: Int32, _ earlier: Int) -> Void
    ) {
        let readEnd = openPipe()
        Thread.detachNewThread { forward(from: readEnd, to: body) }
        for number in signals { install(number) }
    }

    /// Holds a signal back until ``watch(_:_:)`` or ``HeldSignal/release()`` is called. Call `hold` once, before
    /// `watch`.
    package static func hold(_ number: Int32) -> HeldSignal {
        let readEnd = openPipe()
        return HeldSignal(number: number, previousAction: install(number), readEnd: readEnd)
    }

    /// A signal that is held back.
    package struct HeldSignal {
        fileprivate let number: Int32
        fileprivate let previousAction: sigaction
        fileprivate let readEnd: Int32

        /// Restores the previous action of the signal, and raises the signal again if it came while it was held back.
        package func release() {
            var action = previousAction
            sigaction(number, &action, nil)
            var item = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
            guard poll(&item, 1, 0) > 0 else { return }
            var byte: UInt8 = 0
            _ = read(readEnd, &byte, 1)
            raise(number)
        }
    }

    /// Makes the pipe for signals on the first call.
    ///
    /// - Returns: The descriptor from which the numbers of signals are read, one byte each.
    private static func openPipe() -> Int32 {
        guard pipeWriteEnd.load(ordering: .acquiring) < 0 else { return pipeReadEnd.load(ordering: .acquiring) }
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "cannot make the pipe for signals")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        pipeReadEnd.store(ends[0], ordering: .releasing)
        pipeWriteEnd.store(ends[1], ordering: .releasing)
        return ends[0]
    }

    /// The message when a signal stops the program.
    package static func announcement(_ number: Int32) -> String {
        number == SIGINT ? "stopping; press Ctrl-C again to kill" : "stopping"
    }

    package static func ignore(_ number: Int32) { signal(number, SIG_IGN) }

    /// Handles a signal by doing nothing. If a system call caused the signal, the call then fails: for example, a write
    /// beyond the limit for the size of files, which causes SIGXFSZ.
    package static func survive(_ number: Int32) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        action.sa_flags = SA_RESTART
        sigaction(number, &action, nil)
    }

    private static func forward(from readEnd: Int32, to body: (Int32, Int) -> Void) {
        var number: UInt8 = 0
        var earlier = 0
        while true {
            guard uninterrupted({ read(readEnd, &number, 1) }) == 1 else { return }
            body(Int32(number), earlier)
            earlier += 1
        }
    }

    /// - Returns: The previous action.
    @discardableResult
    private static func install(_ number: Int32) -> sigaction {
        var (action, before) = (sigaction(), sigaction())
        action.__sigaction_handler.sa_handler = { number in
            var byte = UInt8(truncatingIfNeeded: number)
            write(pipeWriteEnd.load(ordering: .acquiring), &byte, 1)
        }
        action.sa_flags = SA_RESTART
        sigaction(number, &action, &before)
        return before
    }
}

/// The write end and the read end of the pipe for all signals, or -1 before there is a pipe. The ends are globals,
/// because a signal handler cannot capture values.
private let pipeWriteEnd = Atomic<Int32>(-1)
private let pipeReadEnd = Atomic<Int32>(-1)
