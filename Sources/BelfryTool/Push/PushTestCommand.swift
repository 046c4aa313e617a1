import ArgumentParser
import BuiltIns
import Foundation
import JSON
import PipelineKit
import TransportAPNs

struct PushTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Sends one test push to one device, through a transport of the pipeline.",
        discussion: """
            Give a device of the pipeline by its user and name, or any device by its token. The push is sent at once. It \
            passes no stage, is in no log, and does not disturb a running pipeline.

              belfry push test Pipelines/quickstart.yaml --user _alice --device alice-phone
              belfry push test Pipelines/quickstart.yaml --token 6a0f… --container iCloud.com.example.Notes
              belfry push test Pipelines/quickstart.yaml --user _alice --device alice-phone --alert "Hello"
              belfry push test Pipelines/quickstart.yaml --user _alice --device alice-phone --payload push.json

            Prints the transport's answer, as JSON in a pipe. Exits with 0 if the push was accepted (which does not mean \
            that it was delivered), otherwise with 1.
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @OptionGroup var target: PushTestTarget

    @Option(help: "The text that the device shows (default: \(Self.standardAlert)).")
    var alert: String?

    private static let standardAlert = "A test from Belfry"

    @Option(help: "A JSON file with the whole payload, instead of --alert.", completion: .file(extensions: ["json"]))
    var payload: String?

    @Flag(help: "Send a silent push: background, priority 5.")
    var silent = false

    @OptionGroup var output: JSONOption

    func validate() throws {
        if silent, payload != nil {
            throw ValidationError(
                "--silent and --payload are both given; a payload that has neither alert, badge nor sound is sent "
                    + "silently anyway"
            )
        }
        if alert != nil, silent || payload != nil {
            throw ValidationError(
                silent
                    ? "--alert and --silent are both given, but a silent push shows no text"
                    : "--alert and --payload are both given; put the text into the payload")
        }
        try target.check()
    }

    func run() async throws {
        let checked = try CheckedPipeline(path: pipeline)
        let device = try target.device(in: checked, at: pipeline)
        let route = try TransportRoute.find(device.transport, in: checked)
        let push = TestPush(device, payload: try payloadBytes())
        let transport = try Registry.builtIns.transport(route.binding, folder: route.folder) {
            try StandardOutput.write(line: $0)
        }
        try await transport.open()
        let answer = try await Self.answer(of: transport, to: push.delivery)
        await transport.close()
        let report = PushTestReport(answer: answer, device: device, push: push, remedy: Self.remedy(answer, route))
        try output.print([report.text], json: [report.json])
        if answer.outcome != .accepted { throw ToolFailure(.no) }
    }

    /// The answer to the push, or `deferred` if the push is still in flight after ``answerWaitMax``. To get the answer,
    /// the push is given to the transport again, which does not send a push in flight twice.
    private static func answer(of transport: some Transport, to push: Delivery) async throws -> TransportAnswer {
        let deadline = ContinuousClock.now + answerWaitMax
        var answer = await transport.deliver([push])[0]
        while answer.isUnderWay, .now < deadline {
            try await Task.sleep(for: .milliseconds(200))
            answer = await transport.deliver([push])[0]
        }
        return answer
    }

    private static let answerWaitMax = Duration.seconds(10)

    /// Advice for the user; nil if the transport is not APNs, if the push was neither deferred nor stopped, or if there
    /// is no advice for the answer's reason.
    private static func remedy(_ answer: TransportAnswer, _ route: TransportRoute) -> String? {
        guard route.binding.kind == APNsTransport.kind, [.deferred, .stopped].contains(answer.outcome) else {
            return nil
        }
        return APNsProbe.remedy(status: answer.status, reason: answer.reason ?? "")
    }

    private func payloadBytes() throws -> [UInt8] {
        guard let payload else {
            var json = ByteBuffer()
            json.append(silent ? "{\"aps\":{\"content-available\":1}}" : "{\"aps\":{\"alert\":")
            if !silent {
                json.appendJSON(alert ?? Self.standardAlert)
                json.append(",\"sound\":\"default\"}}")
            }
            return Array(json.bytes)
        }
        guard let bytes = FileManager.default.contents(atPath: payload) else {
            let reason = access(payload, R_OK) == 0 ? "it is not a file" : String(cString: strerror(errno))
            throw ToolFailure(.noInput, "cannot read \(payload): \(reason)")
        }
        return try TestPush.compact(Array(bytes), from: payload)
    }
}
