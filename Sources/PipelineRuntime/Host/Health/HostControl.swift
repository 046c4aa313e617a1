import PipelineKit
import Synchronization
import ZeroMQ

/// The handle on a running host for everything outside its thread: stop it, see how it fares.
package final class HostControl: Sendable {
    let wake: WakeSignal
    private let state = Mutex(State())

    private struct State {
        var stopAsked = false
        var report = HostReport()
        var waiters: [@Sendable (HostReport) -> Bool] = []
    }

    /// Throws where the process has no file descriptors left.
    package init() throws { wake = try WakeSignal() }

    /// Asks the host to finish the batch in hand, make it durable and return.
    package func stop() {
        state.withLock { $0.stopAsked = true }
        wake.signal()
    }

    /// How the host fared at its last turn.
    package var report: HostReport { state.withLock { $0.report } }

    /// Calls `body` after every turn until it returns true. It runs on the host's thread: be brief.
    func observe(_ body: @escaping @Sendable (HostReport) -> Bool) {
        state.withLock { state in
            if !body(state.report) { state.waiters.append(body) }
        }
    }

    /// Returns when the report is as wanted, or when the host has ended without.
    ///
    /// - Returns: Whether the report is as wanted.
    @discardableResult
    package func wait(until condition: @escaping @Sendable (HostReport) -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            observe { report in
                let isMet = condition(report)
                guard isMet || report.phase == .stopped else { return false }
                continuation.resume(returning: isMet)
                return true
            }
        }
    }

    /// Called when the host has ended, however that came: nobody need wait any more.
    func end() {
        var report = report
        report.phase = .stopped
        publish(report)
    }

    var isStopAsked: Bool { state.withLock { $0.stopAsked } }

    func publish(_ report: HostReport) {
        state.withLock { state in
            state.report = report
            state.waiters.removeAll { $0(report) }
        }
    }
}

/// What a host tells about itself: counts since it started, positions in logs.
package struct HostReport: Sendable, Hashable {
    /// What a host is at. The words stand in its answer to `health`.
    package enum Phase: String, Sendable, Hashable {
        case starting
        /// Connected to nothing yet.
        case waitingForUpstream = "waiting_for_upstream"
        /// The stage's program is not there, or has not answered what it has for ten seconds.
        case waitingForProgram = "waiting_for_program"
        /// Feeding the stage its history to make its state anew.
        case rebuilding
        case running
        /// Its logs have no room: it takes nothing in, and goes on by itself when there is.
        case diskFull = "disk_full"
        case stopped
    }

    /// What a full disk has no room for.
    package struct Shortage: Sendable, Hashable {
        /// The file that could not be written.
        package var file: String
        /// 0 where it is not known.
        package var bytesNeeded: Int
    }

    /// What it was at when the last turn of its loop ended.
    package var phase = Phase.starting
    /// What there is no room for; nil where there is.
    package var shortage: Shortage?
    /// Events taken from the upstream or the door.
    package var eventsIn: UInt64 = 0
    /// Events appended to the stage's log.
    package var eventsOut: UInt64 = 0
    /// Events that were set aside with a reason.
    package var deadLetters: UInt64 = 0
    /// Messages that were refused since they do not keep to the link's protocol.
    package var refusedFrames = 0
    /// How far the machine's clock is behind the log's time, which goes on meanwhile; negative where it went forward by
    /// more than a minute at once, and the log's time follows. Zero for less than ten seconds.
    package var clockBehind = Duration.zero
    /// The first sequence that the stage's own log still has.
    package var first: UInt64 = 1
    /// Last sequence of the stage's own log.
    package var last: UInt64 = 0
    /// Last sequence of the upstream's log that this stage has taken in.
    package var taken: UInt64 = 0
    /// The highest mark that has passed with everything before it done.
    package var mark: UInt64 = 0
    /// Where consumers connect, as bound.
    package var endpoint = ""
    /// Where producers connect, as bound.
    package var door: String?

    /// The report of a host that has not had its first turn.
    package init() {}
}
