import JetStreamHome
import PipelineKit
import PipelineRuntime
import StageTool
import ZeroMQ

/// `belfry up --drain`: other hosts take over the stages that a host runs.
struct DrainHost: Sendable {
    private let path: String
    private let file: PipelineFile
    private let host: HostSettings
    private let home: HomeSettings

    /// How long another host may take to take the stages over.
    private static let answerMax = Duration.seconds(10)

    /// - Throws: ``ToolFailure`` if the file has no hosts.
    init(_ checked: CheckedPipeline) throws {
        guard let host = checked.file.host, let home = checked.file.log.home else {
            throw ToolFailure(.usage, "\(checked.path) has no `hosts`, so no other host can take a stage over")
        }
        (path, file, self.host, self.home) = (checked.path, checked.file, host, home)
    }

    /// - Throws: ``ToolFailure`` with 1 if a stage still runs on the host, or on none.
    func run() async throws {
        guard try await SocketThread.run(name: "drain", drain) else { throw ToolFailure(.no) }
    }

    private struct Stage {
        let name: String
        let watch: OwnerWatch
        /// The number of this host as the owner, if it was asked to hand over; otherwise nil.
        var number: UInt64?
    }

    /// - Returns: Whether other hosts run all stages.
    private func drain() throws -> Bool {
        let servers = try JetStreamHome(home, pipeline: file.name, host: host.name) { _ in }
        var stages = try file.stagesOfHost.map {
            Stage(name: $0.name, watch: OwnerWatch(file.hosts, try servers.beacons(of: $0.logName)))
        }
        let ownersKnown = ContinuousClock.now + home.takeOver + .seconds(1)
        var isDrained = true
        for index in stages.indices {
            isDrained = ask(&stages[index], max(.zero, ownersKnown - .now)) && isDrained
        }
        let end = ContinuousClock.now + Self.answerMax
        for stage in stages {
            guard let number = stage.number else { continue }
            if let successor = successor(stage.watch, number, end), successor.name != host.name {
                StandardError.write("\(stage.name): host \(successor.name) took it over")
            } else {
                StandardError.write("\(stage.name): no other host took it over")
                isDrained = false
            }
        }
        return isDrained
    }

    /// Asks this host to hand the stage over, if it runs the stage.
    ///
    /// - Parameter limit: How long to wait until a host says that it runs the stage. The other stages' hosts are heard
    ///   meanwhile.
    /// - Returns: Whether a host runs the stage.
    private func ask(_ stage: inout Stage, _ limit: Duration) -> Bool {
        guard let owner = stage.watch.owner(atMost: limit) else {
            StandardError.write("\(stage.name): no host says that it runs the stage")
            return false
        }
        guard owner.name == host.name else {
            StandardError.write("\(stage.name): host \(owner.name) runs it")
            return true
        }
        stage.number = stage.watch.ownerNumber
        stage.watch.drain(host)
        return true
    }

    /// The host that runs the stage after the request; nil if none says so in time.
    private func successor(
        _ watch: OwnerWatch, _ number: UInt64, _ end: ContinuousClock.Instant
    ) -> HostSettings? {
        repeat {
            if let owner = watch.next(after: number, atMost: .milliseconds(100)) { return owner }
        } while .now < end
        return nil
    }
}
