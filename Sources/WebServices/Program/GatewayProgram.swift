import ArgumentParser
import BuiltInStages
import Glibc
import PipelineKit
import PipelineRuntime
import RecordStore
import StageTool

/// `belfry-api`, the gateway for CloudKit Web Services. `belfry up` starts it as `belfry api`.
package struct GatewayProgram: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Serves CloudKit Web Services over HTTP for a pipeline.",
        discussion: """
            Answers the requests of CloudKit JS and of other clients of CloudKit Web Services: records, zones, subscriptions, \
            assets, notifications, device tokens and users. Reads the settings under `api` in the pipeline file. Sends writes \
            to ingest. Answers reads from its own store, a copy of the records that it keeps up to date from ingest's log. \
            Any number of gateways may run. `belfry up` starts the gateway with the stages.

              belfry-api -p Pipelines/quickstart.yaml
              belfry key create api .belfry/quickstart/api/keys.json web --container iCloud.com.example.Notes
            """)

    @Option(name: .shortAndLong, help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Option(help: HostOption.help)
    var host: String?

    package init() {}

    package func run() async throws {
        RecordStore.turnOffMemoryStatistics()
        let text = try StageRunner.file(pipeline)
        let file = try CheckedPipeline.ofHost(host, text)
        let gateway = try Gateway(of: file, path: text.path) { StandardError.write("api: \($0)") }
        let control = GatewayControl(gateway: gateway, host: file.host?.name)
        control.watch()
        try await gateway.run { address in StandardError.write("api: ready, \(address)") }
        if !StageRunner.isSupervised { StandardError.write("api: stopped") }
    }
}

/// Handles the signals to a gateway, and the pipeline files that `belfry up` sends to it on a reload.
private struct GatewayControl: Sendable {
    let gateway: Gateway
    /// The name of this host; nil if the pipeline has no hosts.
    let host: String?

    func watch() {
        StopSignals.watch([SIGINT, SIGTERM]) { [gateway] number, earlier in
            // Under `up`, the supervisor handles Ctrl-C.
            guard number == SIGTERM || !StageRunner.isSupervised else { return }
            if earlier > 0, number == SIGINT { _exit(128 + number) }
            gateway.stop()
        }
        guard StageRunner.isSupervised else { return }
        Lifeline.watch({ handle($0) }, ended: { [gateway] in gateway.stop() })
    }

    private func handle(_ message: SupervisorMessage) {
        guard case .file(let folder, let text) = message else { return }
        let isAccepted = reload(PipelineText(path: gateway.path, folder: folder, text: text))
        SupervisorSocket.ofThisProcess.sendAnswer(acceptsFile: isAccepted)
    }

    /// - Returns: Whether the gateway has accepted the file.
    private func reload(_ text: PipelineText) -> Bool {
        do {
            let file = try CheckedPipeline.ofHost(host, text)
            try gateway.reload(file)
            return true
        } catch {
            StandardError.write("api: \(error)")
            return false
        }
    }
}

extension CheckedPipeline {
    /// The file as a host runs it, without checks of the stages.
    fileprivate static func ofHost(_ name: String?, _ text: PipelineText) throws -> PipelineFile {
        let file = try ofThisHost(try PipelineFile.parse(text, registry: .builtInStages), named: name)
        return try CheckedPipeline(path: text.path, file: file).onHost().file
    }
}

/// ``GatewayProgram`` under the name of its executable.
private struct GatewayExecutable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-api", abstract: GatewayProgram.configuration.abstract,
        discussion: GatewayProgram.configuration.discussion)

    @OptionGroup var program: GatewayProgram

    func run() async throws { try await program.run() }
}

extension Tool {
    /// `belfry-api`.
    package static func api() async -> Never { await run(GatewayExecutable.self) }
}
