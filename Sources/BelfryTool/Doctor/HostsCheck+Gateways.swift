import PipelineKit
import PipelineRuntime
import WebServices
import ZeroMQ

extension HostsCheck {
    /// What doctor learns about the gateway of a host.
    struct Gateway: Sendable {
        enum State: Sendable {
            case answers
            /// `address` is nil if the gateway has not accepted requests on this machine yet.
            case silent(address: String?)
            /// Doctor cannot reach the gateway from here, or cannot tell it from another one.
            case unchecked
        }

        var host: String
        var state: State

        var answers: Bool { if case .answers = state { true } else { false } }
    }

    /// Asks the gateways of some hosts at the same time. Empty if the file has no gateway, or wrong settings for it.
    static func gateways(
        of hosts: [HostSettings], in file: PipelineFile, _ path: String
    ) async throws -> [Gateway] {
        guard file.api != nil else { return [] }
        let settings: GatewaySettings
        // FileCheck reports the mistakes in the settings.
        do { settings = try GatewaySettings(of: file, path: path) } catch { return [] }
        let isOnlyHost = file.hosts.count(where: \.runsGateway) == 1
        return try await withThrowingTaskGroup(of: Gateway.self) { group in
            for host in hosts where host.runsGateway {
                let isHere = host == file.host
                let probe =
                    isHere
                    ? try GatewayProbe(folder: settings.folder(of: file), settings)
                    : GatewayProbe(on: host, settings, isOnlyHost: isOnlyHost)
                group.addTask { Gateway(host: host.name, state: try await state(probe, isHere: isHere)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.host < $1.host }
        }
    }

    private static func state(_ probe: GatewayProbe?, isHere: Bool) async throws -> Gateway.State {
        guard let probe else { return isHere ? .silent(address: nil) : .unchecked }
        return try await HealthCheck.answers(probe) ? .answers : .silent(address: probe.address)
    }

    /// The problem of a gateway that does not answer; nil for another gateway.
    static func silence(_ gateway: Gateway) -> Finding? {
        guard case .silent(let address) = gateway.state else { return nil }
        let host = gateway.host
        let silence = address.map { "does not answer at \($0)" } ?? "has not accepted requests yet"
        return Finding(
            .error, "hosts.gateway_silent", "the gateway of host \(host) \(silence), although the pipeline is running",
            fix:
                "read the messages of `api` on the standard error of `belfry up` on host \(host), which starts the gateway "
                + "again after each failure",
            ["host": .text(host), "address": .text(address ?? "")])
    }

    /// A note about a gateway that was not asked; nil for another gateway.
    static func note(_ gateway: Gateway) -> Finding? {
        guard case .unchecked = gateway.state else { return nil }
        let host = gateway.host
        return Finding(
            .note, "hosts.gateway_unchecked",
            "the gateway of host \(host) is not checked, because its address in the file cannot be asked from here",
            fix: "run `BELFRY_HOST=\(host) belfry doctor FILE` on host \(host)", ["host": .text(host)])
    }
}
