import PipelineKit
import PipelineRuntime
import WebServices
import ZeroMQ

extension HealthCheck {
    /// How long the gateway may take to answer.
    private static let gatewaySeconds = 2

    /// The pipeline's gateway on this machine. Nil if the file has no gateway, or wrong settings for it. Also nil if
    /// the gateway's folder does not show that a gateway has ever accepted requests on this machine. The gateway may
    /// then run on another machine.
    static func gateway(of file: PipelineFile, _ path: String) throws -> GatewayProbe? {
        guard file.api != nil else { return nil }
        let settings: GatewaySettings
        // FileCheck reports the mistakes in the settings.
        do { settings = try GatewaySettings(of: file, path: path) } catch { return nil }
        return try GatewayProbe(folder: settings.folder(of: file), settings)
    }

    static func answers(_ gateway: GatewayProbe) async throws -> Bool {
        try await SocketThread.run(name: "doctor \(PipelineFile.gatewayName)") {
            gateway.answers(withinSeconds: gatewaySeconds)
        }
    }

    /// The problem of the gateway; nil if it answers.
    static func finding(_ gateway: GatewayProbe) async throws -> Finding? {
        guard try await !answers(gateway) else { return nil }
        return Finding(
            .error, "health.gateway_silent",
            "the gateway does not answer at \(gateway.address), but stages do",
            fix:
                "read the gateway's last messages; unless the gateway is just starting, restart `belfry up`, or the "
                + "gateway that you started by hand",
            ["stage": .text(PipelineFile.gatewayName), "address": .text(gateway.address)])
    }
}
