import EventLog
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
        let readEnd = openPipe()
        Thread.detachNewThread { pass(from: readEnd, to: body) }
        for number in signals { install(number) }
    }

    /// Takes a signal before it is known what it is to do. To be called once, first of all.
    package static func hold(_ number: Int32) -> HeldSignal {
        let readEnd = openPipe()
        return HeldSignal(number: number, before: install(number), readEnd: readEnd)
    }

    /// One that was held, whom ``watch(_:_:)`` tells of unless it is let go.
    package struct HeldSignal {
        fileprivate let number: Int32
        fileprivate let before: sigaction
        fileprivate let readEnd: Int32

        /// Lets it do, also if it came meanwhile, what it would have done without us.
        package func release() {
            var before = before
            sigaction(number, &before, nil)
            var item = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
            guard poll(&item, 1, 0) > 0 else { return }
            var byte: UInt8 = 0
            _ = read(readEnd, &byte, 1)
            raise(number)
        }
    }

    /// - Returns: Where the numbers of signals that came are read, one byte each.
    private static func openPipe() -> Int32 {
        guard signalPipe.load(ordering: .acquiring) < 0 else { return signalPipeEnd.load(ordering: .acquiring) }
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "a new process has room for a pipe")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        signalPipeEnd.store(ends[0], ordering: .releasing)
        signalPipe.store(ends[1], ordering: .releasing)
        return ends[0]
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
            guard uninterrupted({ read(readEnd, &number, 1) }) == 1 else { return }
            body(Int32(number), earlier)
            earlier += 1
        }
    }

    /// - Returns: What was there before.
    @discardableResult
    private static func install(_ number: Int32) -> sigaction {
        var (action, before) = (sigaction(), sigaction())
        action.__sigaction_handler.sa_handler = { number in
            var byte = UInt8(truncatingIfNeeded: number)
            write(signalPipe.load(ordering: .acquiring), &byte, 1)
        }
        action.sa_flags = SA_RESTART
        sigaction(number, &action, &before)
        return before
    }
}

/// A signal handler can reach nothing but globals. There is one pipe, from the first signal that is taken on.
private let signalPipe = Atomic<Int32>(-1)
private let signalPipeEnd = Atomic<Int32>(-1)
