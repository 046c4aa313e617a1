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

    /// - Returns: Whether other hosts run all stages.
    private func drain() throws -> Bool {
        let servers = try JetStreamHome(home, pipeline: file.name, host: host.name) { _ in }
        var asked: [(stage: String, watch: OwnerWatch, number: UInt64)] = []
        var isDrained = true
        for stage in file.stagesOfHost {
            let watch = OwnerWatch(file.hosts, try servers.beacons(of: stage.logName))
            guard let owner = watch.owner(atMost: home.takeOver + .seconds(1)) else {
                StandardError.write("\(stage.name): no host says that it runs the stage")
                isDrained = false
                continue
            }
            guard owner.name == host.name else {
                StandardError.write("\(stage.name): host \(owner.name) runs it")
                continue
            }
            asked.append((stage.name, watch, watch.ownerNumber))
            watch.drain(host)
        }
        let end = ContinuousClock.now + Self.answerMax
        for (stage, watch, number) in asked {
            if let successor = successor(watch, number, end), successor.name != host.name {
                StandardError.write("\(stage): host \(successor.name) took it over")
            } else {
                StandardError.write("\(stage): no other host took it over")
                isDrained = false
            }
        }
        return isDrained
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
