import PipelineKit
import Synchronization
import ZeroMQ

/// The handle on a running host for everything outside its thread: stop it, see how it fares.
public final class HostControl: Sendable {
    let wake: WakeSignal
    private let state = Mutex(State())

    private struct State {
        var stopAsked = false
        var report = HostReport()
        var waiters: [@Sendable (HostReport) -> Bool] = []
    }

    /// Throws where the process has no file descriptors left.
    public init() throws { wake = try WakeSignal() }

    /// Asks the host to finish the batch in hand, make it durable and return.
    public func stop() {
        state.withLock { $0.stopAsked = true }
        wake.signal()
    }

    /// How the host fared at its last turn.
    public var report: HostReport { state.withLock { $0.report } }

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
    public func wait(until condition: @escaping @Sendable (HostReport) -> Bool) async -> Bool {
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
public struct HostReport: Sendable, Hashable {
    /// What a host is at. The words stand in its answer to `health`.
    public enum Phase: String, Sendable, Hashable {
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
    public struct Shortage: Sendable, Hashable {
        /// The file that could not be written.
        public var file: String
        /// 0 where it is not known.
        public var bytesNeeded: Int
    }

    /// What it was at when the last turn of its loop ended.
    public var phase = Phase.starting
    /// What there is no room for; nil where there is.
    public var shortage: Shortage?
    /// Events taken from the upstream or the door.
    public var eventsIn: UInt64 = 0
    /// Events appended to the stage's log.
    public var eventsOut: UInt64 = 0
    /// Events that were set aside with a reason.
    public var deadLetters: UInt64 = 0
    /// Messages that were refused since they do not keep to the link's protocol.
    public var refusedFrames = 0
    /// How far the machine's clock is behind the log's time, which goes on meanwhile; negative where it went forward by
    /// more than a minute at once, and the log's time follows. Zero for less than ten seconds.
    public var clockBehind = Duration.zero
    /// The first sequence that the stage's own log still has.
    public var first: UInt64 = 1
    /// Last sequence of the stage's own log.
    public var last: UInt64 = 0
    /// Last sequence of the upstream's log that this stage has taken in.
    public var taken: UInt64 = 0
    /// The highest mark that has passed with everything before it done.
    public var mark: UInt64 = 0
    /// Where consumers connect, as bound.
    public var endpoint = ""
    /// Where producers connect, as bound.
    public var door: String?

    /// The report of a host that has not had its first turn.
    public init() {}
}
