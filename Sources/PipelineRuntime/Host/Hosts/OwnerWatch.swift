import EventLog
import PipelineKit
import Synchronization

/// Finds the host that owns a log, from its beacons.
package final class OwnerWatch: Sendable {
    private struct State {
        var owner: UInt64 = 0
        var host: HostSettings?
    }

    private let hosts: [HostSettings]
    private let beacons: any HomeBeacons
    private let state = Mutex(State())

    package init(_ hosts: [HostSettings], _ beacons: any HomeBeacons) { (self.hosts, self.beacons) = (hosts, beacons) }

    /// The host that owns the log, as far as it is known.
    ///
    /// - Parameter limit: How long to wait for a beacon if the owner is not known yet.
    package func owner(atMost limit: Duration = .zero) -> HostSettings? {
        let end = ContinuousClock.now + limit
        repeat {
            let rest = state.withLock { $0.host } == nil ? max(.zero, end - .now) : .zero
            for message in beacons.receive(atMost: rest) { take(message) }
        } while state.withLock({ $0.host }) == nil && .now < end
        return state.withLock { $0.host }
    }

    private func take(_ message: [UInt8]) {
        guard let beacon = OwnerBeacon(message), let host = hosts.first(where: { $0.name == beacon.host }) else {
            return
        }
        state.withLock { state in
            guard beacon.owner >= state.owner, !beacon.ends else { return }
            (state.owner, state.host) = (beacon.owner, host)
        }
    }
}
