import ArgumentParser
import Inspect
import JSON
import PipelineKit

/// Which device a test goes to.
struct PushTestTarget: ParsableArguments {
    @Option(help: "Whose device.")
    var user: String?

    @Option(help: "The device's name.")
    var device: String?

    @Option(help: "A device's token, in place of user and device.")
    var token: String?

    @Option(help: "With --token: the app's container.")
    var container: String?

    @Option(help: "With --token: development or production.")
    var environment = "development"

    @Option(help: "With --token: the app's topic (default: the container's only one).")
    var topic: String?

    @Option(help: "With --token: the transport, as the pipeline file names it.")
    var transport = "apns"

    func check() throws {
        if token == nil {
            guard user != nil, device != nil else {
                throw ValidationError("name a device: --user and --device, or --token and --container")
            }
            guard container == nil else { throw ValidationError("--container goes with --token") }
        } else {
            guard user == nil, device == nil else { throw ValidationError("--token names the device already") }
            guard container != nil else { throw ValidationError("--token needs --container") }
        }
    }

    /// - Throws: ``ToolFailure`` with 66 where the logs know no such device.
    func device(in checked: CheckedPipeline, at pipeline: String) throws -> TestDevice {
        if let token {
            return TestDevice(
                name: "test", transport: transport, token: token, user: "",
                app: .init(container: container ?? "", environment: environment, topic: topic))
        }
        return try TestDevice.find(
            user: user ?? "", device: device ?? "", in: pipeline, TransportRoute.kinds(in: checked))
    }
}

/// A device as it stands now.
struct TestDevice {
    let name: String
    let transport: String
    let token: String
    let user: String
    let app: Delivery.App

    private static func logs(of pipeline: String) throws -> RecordedLogs {
        do { return try RecordedLogs(place: pipeline) } catch let failure as ToolFailure {
            throw ToolFailure(
                failure.status, failure.message + "; a device that no log knows is named by --token and --container")
        }
    }

    /// Looks for its last registration in the log of ingest, of those that deliver takes.
    ///
    /// - Parameter kinds: The pipeline's transports, by their names.
    static func find(
        user: String, device: String, in pipeline: String, _ kinds: [String: any Transport.Type]
    ) throws -> TestDevice {
        let logs = try logs(of: pipeline)
        let log = logs.log(of: logs.path[0])
        let histories = try DeviceHistory.all(
            in: log, user: ExactText(user), device: ExactText(device), IndexFinder())
        guard let last = histories.last?.entries.last(where: { $0.isTaken(by: kinds) }) else {
            throw ToolFailure(.noInput, "\(user) never had a device \(device) (belfry state \(pipeline) devices)")
        }
        guard last.isRegistration else {
            throw ToolFailure(.noInput, "\(device) of \(user) was unregistered at change \(last.sequence)")
        }
        let address = last.address.map(\.string)
        return TestDevice(
            name: device, transport: address[2], token: last.token.string, user: user,
            app: .init(
                container: address[0], environment: address[1], topic: address[3].isEmpty ? nil : address[3]))
    }
}

extension DeviceHistory.Entry {
    /// Whether deliver makes something of it: see ``Transport/address(_:)``.
    func isTaken(by kinds: [String: any Transport.Type]) -> Bool {
        guard isRegistration, let kind = kinds[address[2].string] else { return true }
        do throws(Rejection) { _ = try kind.address(token.string) } catch { return false }
        return true
    }
}
