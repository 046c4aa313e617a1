import PipelineKit
import Synchronization
import ZeroMQ

/// Stops a running host and reports its state, from any thread.
package final class HostControl: Sendable {
    let wake: WakeSignal
    private let state = Mutex(State())

    private struct State {
        var isStopAsked = false
        var isHandOverAsked = false
        var continuesHere = false
        var stopObservers: [@Sendable () -> Void] = []
        var report = HostReport()
        var waiters: [@Sendable (HostReport) -> Bool] = []
    }

    /// - Throws: If the process has no file descriptors left.
    package init() throws { wake = try WakeSignal() }

    /// Asks the host to take no more input. The host finishes the work that it has begun, makes it durable and returns.
    /// It waits at most ten seconds for that work, for example for the answers to pushes in flight.
    ///
    /// - Parameter continuesHere: Whether another host object of this process continues at once, so that no other
    ///   machine should take the log over.
    package func stop(continuesHere: Bool = false) {
        let observers = state.withLock { state in
            state.isStopAsked = true
            state.continuesHere = continuesHere
            return state.stopObservers
        }
        for observer in observers { observer() }
        wake.signal()
    }

    /// Asks the host to end as ``stop(continuesHere:)`` does, and then to stand by for another machine. Does nothing in
    /// a pipeline without hosts.
    func handOver() {
        state.withLock { $0.isHandOverAsked = true }
        wake.signal()
    }

    /// Whether the host was asked to hand over and not to stop. Forgets the request.
    func takeHandOver() -> Bool {
        state.withLock { state in
            defer { state.isHandOverAsked = false }
            return state.isHandOverAsked && !state.isStopAsked
        }
    }

    var continuesHere: Bool { state.withLock { $0.continuesHere } }

    /// Calls `body` once when the host is asked to stop; at once if it was asked already.
    func onStop(_ body: @escaping @Sendable () -> Void) {
        let isStopAsked = state.withLock { state in
            state.stopObservers.append(body)
            return state.isStopAsked
        }
        if isStopAsked { body() }
    }

    /// The state that the host has published last, usually at the end of a turn.
    package var report: HostReport { state.withLock { $0.report } }

    /// Calls `body` at once and then for each report that the host publishes, until it returns true. `body` runs while
    /// this object is locked, usually on the host's thread. So it must be short and must not use this object.
    func observe(_ body: @escaping @Sendable (HostReport) -> Bool) {
        state.withLock { state in
            if !body(state.report) { state.waiters.append(body) }
        }
    }

    /// Waits until the report meets the condition or the host has ended. Returns whether the report meets the
    /// condition.
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

    /// Called when the host has ended, with or without an error.
    func end() {
        var report = report
        report.phase = .stopped
        publish(report)
    }

    /// Whether the host was asked to stop or to hand over.
    var isStopAsked: Bool { state.withLock { $0.isStopAsked || $0.isHandOverAsked } }

    func publish(_ report: HostReport) {
        state.withLock { state in
            state.report = report
            state.waiters.removeAll { $0(report) }
        }
    }
}

/// What a host reports about itself. Counts begin at the host's start, except ``deadLetters``.
package struct HostReport: Sendable, Hashable {
    /// The host's phase. The raw values appear in the host's answer to `health`.
    package enum Phase: String, Sendable, Hashable {
        case starting
        /// Has not connected to its upstream yet. A connection that is lost later does not change the phase.
        case waitingForUpstream = "waiting_for_upstream"
        /// The stage's program is not running, has not opened its link, or has not answered for ten seconds.
        case waitingForProgram = "waiting_for_program"
        /// Feeding the stage its recorded input to restore its state.
        case rebuilding
        case running
        /// The disk has no room. The stage takes no input until there is room; then it continues by itself.
        case diskFull = "disk_full"
        /// The logs are kept on servers, and no majority of these can be reached. The stage takes no input until then;
        /// then it continues by itself.
        case noQuorum = "no_quorum"
        /// Another machine runs the stage. This one follows its log, and takes over when the other one falls silent.
        case standingBy = "standing_by"
        case stopped
    }

    /// The write that a full disk refused.
    package struct Shortage: Sendable, Hashable {
        /// The file that could not be written.
        package var file: String
        /// How many bytes the write needed; 0 if that is unknown.
        package var bytesNeeded: Int
    }

    /// The phase at the end of the last turn.
    package var phase = Phase.starting
    /// The write that failed for lack of room; nil while there is room.
    package var shortage: Shortage?
    /// Events taken from the upstream, including the events of a rebuild; for a source, lines taken from the door,
    /// including refused lines.
    package var eventsIn: UInt64 = 0
    /// Events appended to the stage's log.
    package var eventsOut: UInt64 = 0
    /// The last sequence of the log of dead letters. It also counts the dead letters of earlier runs.
    package var deadLetters: UInt64 = 0
    /// Messages that the host refused, for example because they break the protocol.
    package var refusedFrames = 0
    /// How far the machine's clock is behind the log's time. Negative if the clock jumped ahead by more than a minute
    /// and the log's time has not caught up yet. A positive value appears when the difference exceeds ten seconds, and
    /// becomes zero when the difference is a second or less.
    package var clockBehind = Duration.zero
    /// The first sequence that is left in the stage's own log.
    package var first: UInt64 = 1
    /// The last sequence of the stage's own log.
    package var last: UInt64 = 0
    /// The last sequence of the upstream's log that this stage has taken; for a stage that is a program, the last
    /// sequence that the program has answered.
    package var taken: UInt64 = 0
    /// The highest mark of virtual time that has passed through the stage: see ``Producer/moveTime(to:mark:)``. All
    /// input before the mark is handled.
    package var mark: UInt64 = 0
    /// The bound endpoint that consumers connect to.
    package var endpoint = ""
    /// The bound endpoint that producers connect to; nil without a door.
    package var door: String?

    /// The report of a host before its first turn.
    package init() {}
}
