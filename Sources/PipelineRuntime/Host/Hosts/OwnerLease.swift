import EventLog
import Foundation
import Synchronization
import Time

/// Says to the other hosts that this host owns a log, and hears if another host has taken the log over.
///
/// A lease proves nothing: only the home keeps a replaced host from writing. But a host that was paused or cut off
/// hears nothing of itself for a while, so it knows that it may have been replaced.
final class OwnerLease: Sendable {
    private struct State {
        /// When the beacon was sent that this host has heard last of its own.
        var heard: ContinuousClock.Instant
        /// Whether this host was asked to give the log up.
        var isDrained = false
        /// Wakes the stage's loop.
        var wake: (@Sendable () -> Void)?
        /// The host that has taken the log over.
        var successor: String?
        var mayAskAt: ContinuousClock.Instant
        var ends = false
    }

    private let plan: HostPlan
    private let hosts: HostsPlan
    private let beacons: any HomeBeacons
    private let owner: UInt64
    private let start: ContinuousClock.Instant
    private let last: @Sendable () -> UInt64
    private let isOwner: @Sendable (UInt64) -> Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - owner: The position in the home of the message with which this host took the log over.
    ///   - last: The last event of the log.
    ///   - isOwner: Whether some host has taken the log over with the message at a position in the home.
    init(
        _ plan: HostPlan, _ hosts: HostsPlan, _ beacons: any HomeBeacons, owner: UInt64,
        last: @escaping @Sendable () -> UInt64, isOwner: @escaping @Sendable (UInt64) -> Bool
    ) {
        (self.plan, self.hosts, self.beacons, self.owner) = (plan, hosts, beacons, owner)
        (self.last, self.isOwner) = (last, isOwner)
        start = plan.time.monotonicNow()
        state = Mutex(State(heard: start, mayAskAt: start))
        Thread.detachNewThread { [weak self] in OwnerLease.work { self } }
    }

    /// Whether this host has just heard itself, so that no other host can have waited long enough to take over.
    func isFresh(at time: ContinuousClock.Instant) -> Bool {
        state.withLock { $0.successor == nil && time - $0.heard < hosts.takeOver / 3 }
    }

    /// - Throws: ``EventLogError/replaced(log:reason:)`` if another host has taken the log over.
    func check() throws(EventLogError) {
        guard let successor = state.withLock({ $0.successor }) else { return }
        throw .replaced(log: plan.logName, reason: "by host \(successor)")
    }

    /// Sets what is called on another thread when ``isFresh(at:)`` or ``check()`` may have changed.
    func onNews(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.wake = body } }

    /// Whether somebody has asked this host to give the log up.
    var isDrained: Bool { state.withLock { $0.isDrained } }

    /// Gives the log up: another host may take it over at once. Call this after the log was closed.
    func giveUp() {
        end()
        sendBeacon(ends: true)
    }

    /// Falls silent. Other hosts take the log over after a while.
    func end() { state.withLock { $0.ends = true } }

    private func sendBeacon(ends: Bool = false) {
        let beacon = OwnerBeacon(
            host: hosts.own.name, owner: owner, last: last(), time: plan.time.wall(), sent: sentNow, ends: ends)
        beacons.send(HostMessage.beacon(beacon).bytes)
    }

    private var sentNow: Int64 { Int64((plan.time.monotonicNow() - start) / .microseconds(1)) }

    private func wake() { state.withLock { $0.wake }?() }

    private var isOwning: Bool { state.withLock { !$0.ends && $0.successor == nil } }

    /// - Parameter lease: Nil when nobody needs the lease any more.
    private static func work(_ lease: () -> OwnerLease?) {
        while let lease = lease(), lease.workOnce() {}
    }

    /// - Returns: Whether there is more to do.
    private func workOnce() -> Bool {
        guard isOwning else { return false }
        sendBeacon()
        let end = plan.time.monotonicNow() + hosts.beaconInterval
        while case let rest = end - plan.time.monotonicNow(), rest > .zero {
            for message in beacons.receive(atMost: rest) { take(message) }
        }
        return true
    }

    private func take(_ message: [UInt8]) {
        switch HostMessage(message) {
        case .beacon(let beacon) where hosts.knows(beacon.host): take(beacon)
        case .drain(hosts.own.name): state.withLock { $0.isDrained = true }
        case .question where isOwning: sendBeacon()
        default: break
        }
        wake()
    }

    private func take(_ beacon: OwnerBeacon) {
        if beacon.owner == owner, beacon.host == hosts.own.name {
            let sent = start + .microseconds(beacon.sent)
            state.withLock { $0.heard = max($0.heard, min(sent, plan.time.monotonicNow())) }
        } else if beacon.owner > owner, beacon.host != hosts.own.name, mayAsk(), isOwner(beacon.owner) {
            state.withLock { $0.successor = beacon.host }
        }
    }

    /// Whether some time has passed since the home was last asked about an owner. Many false beacons must not keep this
    /// host from sending its own.
    private func mayAsk() -> Bool {
        let now = plan.time.monotonicNow()
        return state.withLock { state in
            guard now >= state.mayAskAt else { return false }
            state.mayAskAt = now + hosts.beaconInterval
            return true
        }
    }
}
