import EventLog
import PipelineKit
import Synchronization
import Time

/// Finds the host that owns a log, from its beacons.
package final class OwnerWatch: Sendable {
    private struct State {
        var owner: UInt64 = 0
        var host: HostSettings?
        var clockAhead = Duration.zero
        var heard: ContinuousClock.Instant
    }

    private let hosts: [HostSettings]
    private let beacons: any HomeBeacons
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    /// After this silence of the owner, any host that says that it owns the log is believed. So a beacon with a number
    /// that no owner has misleads readers only for a while.
    private static let silenceMax = Duration.seconds(2)

    package init(
        _ hosts: [HostSettings], _ beacons: any HomeBeacons,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        (self.hosts, self.beacons, self.now) = (hosts, beacons, now)
        state = Mutex(State(heard: now()))
    }

    /// Asks a host to give the log up.
    package func drain(_ host: HostSettings) { beacons.send(HostMessage.drain(host: host.name).bytes) }

    /// The number of the owner that is known; it grows with each change of the owner.
    package var ownerNumber: UInt64 { state.withLock { $0.owner } }

    /// How far the owner's clock was ahead of this machine's when its last beacon was received, or before.
    package var clockAhead: Duration { state.withLock { $0.clockAhead } }

    /// The host that owns the log, as far as it is known.
    ///
    /// - Parameter limit: How long to wait for a beacon if the owner is not known yet.
    package func owner(atMost limit: Duration = .zero) -> HostSettings? {
        let end = ContinuousClock.now + limit
        if limit > .zero, state.withLock({ $0.host }) == nil { beacons.send(HostMessage.question.bytes) }
        repeat {
            let rest = state.withLock { $0.host } == nil ? max(.zero, end - .now) : .zero
            for message in beacons.receive(atMost: rest) { take(message) }
        } while state.withLock({ $0.host }) == nil && .now < end
        return state.withLock { $0.host }
    }

    /// The host that has become the owner after the one with the number ``ownerNumber``; nil if none has.
    ///
    /// - Parameter limit: How long to wait for a beacon.
    package func next(after number: UInt64, atMost limit: Duration) -> HostSettings? {
        for message in beacons.receive(atMost: limit) { take(message) }
        return state.withLock { $0.owner > number ? $0.host : nil }
    }

    private func take(_ message: [UInt8]) {
        guard case .beacon(let beacon) = HostMessage(message), let host = hosts.first(where: { $0.name == beacon.host })
        else {
            return
        }
        state.withLock { state in
            let isSilent = now() - state.heard > OwnerWatch.silenceMax
            guard beacon.owner >= state.owner || isSilent, !beacon.ends else { return }
            (state.owner, state.host, state.heard) = (beacon.owner, host, now())
            state.clockAhead = beacon.time - Instant.wall()
        }
    }
}
