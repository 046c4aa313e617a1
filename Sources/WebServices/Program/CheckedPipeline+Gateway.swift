import Access
import PipelineKit
import PipelineRuntime
import StageTool

extension CheckedPipeline {
    /// Checks the settings of the gateway, if the file has one.
    package func checkGateway() throws(PipelineFileError) { _ = try gateway }

    /// The mistake if this machine has no keys for a gateway that other machines could connect to. Nil if there are
    /// keys, if the gateway listens on loopback only, or if this machine runs no gateway.
    package func missingGatewayKeys() throws(PipelineFileError) -> SettingsError? {
        guard file.runsGateway else { return nil }
        return try gateway.flatMap { $0.missingKeys(AccessControl(keyFile: $0.keyFile(of: file)), file) }
    }

    /// The settings of the gateway; nil if the file has no gateway.
    package var gateway: GatewaySettings? {
        get throws(PipelineFileError) { file.api == nil ? nil : try GatewaySettings(of: file, path: path) }
    }

    /// How `belfry up` starts the gateway; nil if the file has no gateway.
    ///
    /// - Parameter belfry: The path of the program `belfry`.
    package func gatewayProgram(belfry: String = SiblingProgram.running) -> Supervisor.Program? {
        guard file.api != nil else { return nil }
        let onHost = file.host.map { ["--host", $0.name] } ?? []
        return Supervisor.Program(
            stage: PipelineFile.gatewayName, command: [belfry, PipelineFile.gatewayName, "--pipeline", path] + onHost)
    }

    /// The folder of the gateway's store; nil if the file has no gateway.
    package func gatewayFolder() throws(PipelineFileError) -> String? {
        try gateway.map { $0.folder(of: file) }
    }

    /// The port of the gateway with this process ID; nil if the file has no gateway, or this process does not accept
    /// requests yet.
    package func gatewayPort(process: Int32) throws -> Int? {
        try gatewayFolder().flatMap { try GatewayFile.port(in: $0, process: process) }
    }
}
