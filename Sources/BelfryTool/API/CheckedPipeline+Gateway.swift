import PipelineKit
import PipelineRuntime
import WebServices

extension CheckedPipeline {
    /// Checks the settings of the gateway, if the file has one.
    func checkGateway() throws(PipelineFileError) { _ = try gateway }

    private var gateway: GatewaySettings? {
        get throws(PipelineFileError) { file.api == nil ? nil : try GatewaySettings(of: file, path: path) }
    }

    /// How `belfry up` starts the gateway; nil without one.
    var gatewayProgram: Supervisor.Program? {
        guard file.api != nil else { return nil }
        return Supervisor.Program(
            stage: PipelineFile.gatewayName,
            command: [SiblingProgram.running, PipelineFile.gatewayName, "--pipeline", path])
    }

    /// The folder of the gateway's store; nil without a gateway.
    func gatewayFolder() throws(PipelineFileError) -> String? {
        try gateway.map { $0.folder(of: file) }
    }
}
