import ArgumentParser
import Inspect
import JSON
import PipelineKit

/// The options that select the device of a test push.
struct PushTestTarget: ParsableArguments {
    @Option(help: "The owner of the device.")
    var user: String?

    @Option(help: "The device's name.")
    var device: String?

    @Option(help: "A device's token, in place of user and device.")
    var token: String?

    @Option(help: "With --token: the app's container.")
    var container: String?

    @Option(help: "With --token: development or production (default: development).")
    var environment: String?

    @Option(
        help: "With --token: the app's topic (default: that of the first app with this container and environment).")
    var topic: String?

    @Option(help: "With --token: the transport, as the pipeline file names it (default: apns).")
    var transport: String?

    private static let environments = ["development", "production"]

    func check() throws {
        if token == nil {
            guard user != nil, device != nil else {
                throw ValidationError("name a device: --user and --device, or --token and --container")
            }
            let tokenOnly = [
                ("container", container), ("environment", environment), ("topic", topic), ("transport", transport),
            ]
            for case (let option, _?) in tokenOnly { throw ValidationError("--\(option) needs --token") }
        } else {
            guard user == nil, device == nil else {
                throw ValidationError("give either --token, or --user and --device")
            }
            guard container != nil else { throw ValidationError("--token needs --container") }
            if let environment, !Self.environments.contains(environment) {
                let near = Spelling.suggestion(for: environment, among: Self.environments).map { "; " + $0 } ?? ""
                throw ValidationError("--environment takes development or production, not '\(environment)'\(near)")
            }
        }
    }

    /// - Throws: ``ToolFailure`` with status 66 if there are no logs, if they contain no valid registration of the
    ///   device, or if the device was unregistered.
    func device(in checked: CheckedPipeline, at pipeline: String) throws -> TestDevice {
        if let token {
            return TestDevice(
                name: "test", transport: transport ?? "apns", token: token, user: "",
                app: .init(
                    container: container ?? "", environment: environment ?? Self.environments[0], topic: topic))
        }
        return try TestDevice.find(
            user: user ?? "", device: device ?? "", in: pipeline, TransportRoute.kinds(in: checked))
    }
}

/// The device that gets a test push.
struct TestDevice {
    let name: String
    let transport: String
    let token: String
    let user: String
    let app: Delivery.App

    private static func logs(of pipeline: String) throws -> RecordedLogs {
        do { return try RecordedLogs(place: pipeline) } catch let failure as ToolFailure {
            throw ToolFailure(
                failure.status, failure.message + "; without logs, name the device with --token and --container")
        }
    }

    /// Finds the device in ingest's log, by the last registration that deliver accepts. If the user has devices of this
    /// name in several containers or environments, takes the device that was registered last.
    ///
    /// - Throws: ``ToolFailure`` with status 66 if there are no logs, if deliver accepts no registration, or if a
    ///   device of this name was unregistered after the last registration.
    static func find(
        user: String, device: String, in pipeline: String, _ kinds: [String: any Transport.Type]
    ) throws -> TestDevice {
        let logs = try logs(of: pipeline)
        let log = logs.log(of: logs.stages[0])
        let histories = try DeviceHistory.all(
            in: log, user: ExactText(user), device: ExactText(device), IndexFinder())
        let accepted = histories.flatMap(\.entries).filter { $0.isAccepted(by: kinds) }
        guard let last = accepted.max(by: { $0.sequence < $1.sequence }) else {
            throw ToolFailure(
                .noInput,
                "ingest's log has no valid registration of device \(device) for user \(user); see `belfry state "
                    + "\(pipeline) devices`")
        }
        guard let address = last.address else {
            throw ToolFailure(.noInput, "\(device) of \(user) was unregistered at change \(last.sequence)")
        }
        return TestDevice(
            name: device, transport: address.transport.string, token: address.token.string, user: user,
            app: .init(
                container: address.container.string, environment: address.environment.string,
                topic: address.topic?.string))
    }
}

extension DeviceHistory.Entry {
    /// Whether deliver accepts the entry: an unregistration, or a registration with a valid token. The transport checks
    /// the token (see ``Transport/address(_:)``). For a transport that is not in `kinds`, every token is valid.
    func isAccepted(by kinds: [String: any Transport.Type]) -> Bool {
        guard let address, let kind = kinds[address.transport.string] else { return true }
        do throws(Rejection) { _ = try kind.address(address.token.string) } catch { return false }
        return true
    }
}
