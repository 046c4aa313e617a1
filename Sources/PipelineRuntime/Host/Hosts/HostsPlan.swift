import PipelineKit

/// The hosts of a pipeline, as one stage sees them.
struct HostsPlan: Sendable, Equatable {
    let own: HostSettings
    let all: [HostSettings]
    /// After this silence of the owner another host takes the log over.
    let takeOver: Duration
    /// The name of the upstream's log; nil for a source.
    let upstreamLog: String?
    /// The address of the upstream in the file; nil for a source.
    let upstreamBind: String?

    /// Nil if the file has no hosts.
    init?(_ stage: PipelineStage, of file: PipelineFile) {
        guard let own = file.host, let home = file.log.home else { return nil }
        let upstream = file.upstream(of: stage)
        (self.own, all, takeOver) = (own, file.hosts, home.takeOver)
        (upstreamLog, upstreamBind) = (upstream?.logName, upstream?.bindInFile)
    }

    /// The upstream's address on a host; nil if the host is unknown.
    func upstream(on host: HostSettings?) -> String? { upstreamBind.flatMap { host?.endpoint(of: $0) } }

    func knows(_ host: String) -> Bool { all.contains { $0.name == host } }

    /// How often the owner says that it lives. The owner hands pushes out only if its last word is younger than a third
    /// of ``takeOver``.
    var beaconInterval: Duration { min(.milliseconds(500), takeOver / 6) }
}
