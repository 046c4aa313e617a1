import EventLog
import PipelineKit

/// For how long nothing was heard of a log's owner.
struct Silence {
    private let hosts: HostsPlan
    /// A random part keeps several hosts from trying at the same moment.
    private let limit: Duration
    private var heard: ContinuousClock.Instant
    private var losses: Int?
    private var owner: UInt64 = 0
    private var host: String?
    private var isGivenUp = false
    private var heardOwner: ContinuousClock.Instant?

    init(_ hosts: HostsPlan, _ now: ContinuousClock.Instant) {
        self.hosts = hosts
        limit = hosts.takeOver * Double.random(in: 1...1.3)
        heard = now
    }

    /// - Parameters:
    ///   - end: The position in the log's home of the last message that was read.
    ///   - hasNews: Whether the log has got messages.
    mutating func note(
        _ beacons: any HomeBeacons, end: UInt64, hasNews: Bool, at now: ContinuousClock.Instant
    ) {
        if hasNews || !beacons.isConnected || beacons.losses != losses { heard = now }
        losses = beacons.losses
        for message in beacons.receive(atMost: .zero) {
            guard case .beacon(let beacon) = HostMessage(message), hosts.knows(beacon.host), beacon.owner >= owner
            else { continue }
            heard = now
            // The log will soon show whether this host really took it over.
            guard beacon.owner <= end else { continue }
            (owner, host, isGivenUp) = (beacon.owner, beacon.host, beacon.ends && beacon.host != hosts.own.name)
            heardOwner = beacon.ends ? nil : now
        }
    }

    /// Why the log may be taken over, once it may.
    var reason: String {
        let owner = host.map { "host \($0)" } ?? "every other host"
        return isGivenUp ? "\(owner) gave it up" : "\(owner) was silent for \(hosts.takeOver.settingsText)"
    }

    /// The host that owns the log and was heard not long ago.
    func owner(at now: ContinuousClock.Instant) -> String? {
        guard let heardOwner, now - heardOwner <= limit else { return nil }
        return host
    }

    func isOver(at now: ContinuousClock.Instant) -> Bool { isGivenUp || now - heard > limit }
}
