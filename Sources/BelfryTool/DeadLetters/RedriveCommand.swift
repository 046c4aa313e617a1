import ArgumentParser
import Inspect
import PipelineKit
import PipelineRuntime
import ZeroMQ

struct RedriveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Sends again what did not get through.",
        discussion: """
            Says what would be sent, to whom, and what is obsolete by now, and sends nothing unless --yes is given. A push \
            goes to its one device, as it was but for a badge that a newer push has set since, under a new apns-id (push.redrive through ingest); a change, \
            subscription, device or badge that a stage refused goes through ingest again, as if it came anew. The order is \
            that of `belfry dead-letters`, the oldest of each log first, and never more than --limit at a time.

            Left out is what is obsolete:

              redriven                already redriven; if that failed too, the failure is another dead letter
              expired                 its apns-expiration has passed: --include sends it once, with apns-expiration 0
              superseded              a newer push of its collapse ID got through to the device, waits, or is redriven \
            with it; or a newer command about the same record, device or subscription came
              device.registered_anew  with another token, topic or transport: --include sends there
              device.unregistered, device.retired, device.replaced
                                      there is nobody left; another device may have the token

              belfry dead-letters redrive Pipelines/quickstart.yaml --reason BadTopic
              belfry dead-letters redrive Pipelines/quickstart.yaml --reason BadTopic --limit 10 --yes
              belfry dead-letters redrive Pipelines/quickstart.yaml --device alice-phone --include superseded --yes
              belfry dead-letters redrive out --json | jq -c 'select(.type == "redrive").command'

            Exits with 0 where there is nothing to redrive or it is done, with 1 where there is and --yes is not given, \
            with 65 if the door refused any, with 69 where it does not answer. In a pipe, or with --json, an object for \
            each letter, then a summary: type (redrive with its command, left_out, refused, summary).
            """)

    @OptionGroup var place: LetterPlace

    @OptionGroup(title: "Filters")
    var options: LetterOptions

    @Option(
        help: "Redrive these too, though they are obsolete: redriven, expired, superseded or device.registered_anew.")
    var include: [Obsolescence] = []

    @Option(parsing: .unconditional, help: "Redrive so many at most, the oldest.")
    var limit = 1_000

    @Flag(help: "Send them.")
    var yes = false

    @Option(help: "The door's address, instead of the pipeline file's.")
    var door: String?

    @OptionGroup var keys: KeyOptions

    @Option(help: "Seconds to wait for the door's answer.")
    var timeout: Double = 10

    @OptionGroup var output: JSONOption

    func validate() throws {
        if door != nil, keys.key != nil {
            throw ValidationError("--key goes with a pipeline file, which has the key of the stage behind the door")
        }
        if limit < 1 { throw ValidationError("--limit takes a number from 1 on") }
        if let useless = include.first(where: { !Obsolescence.includable.contains($0) }) {
            let known = Obsolescence.includable.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(
                "--include \(useless.rawValue): nobody would get it; \(known) can be")
        }
        guard timeout > 0, timeout <= 86_400 else {
            throw ValidationError("--timeout takes a number of seconds, more than 0 and at most 86400")
        }
    }

    func run() async throws {
        let plan = RedrivePlan(try place.find(options.filter, including: include), limit: limit)
        let commands = RedriveCommands(folder: plan.found.logs.folder, now: .wall())
        var text = RedriveText(plan: plan, content: commands.content)
        let isForPeople = !output.isWanted
        if isForPeople { try write(text.preview()) }
        if yes, plan.redrivable > 0 { text.sent = try await send(plan, commands) }
        if isForPeople {
            try write(text.verdict)
        } else {
            try text.json({ try Self.text(of: $0, commands) }, { try StandardOutput.write(line: $0) })
            for line in text.verdict { StandardError.write(line) }
        }
        if let sent = text.sent, sent.refused > 0 { throw ToolFailure(.badData) }
        if text.sent == nil, plan.redrivable > 0 { throw ToolFailure(.no) }
    }

    private func write(_ lines: [String]) throws {
        for line in lines { try StandardOutput.write(line: line) }
    }

    private static func text(of letter: Letter, _ commands: RedriveCommands) throws -> String? {
        do { return String(decoding: try commands.command(letter), as: UTF8.self) } catch is RedriveCommands.Unfit {
            return nil
        }
    }

    private func send(_ plan: RedrivePlan, _ commands: RedriveCommands) async throws -> RedriveTotals {
        let source = try door == nil ? sourcePlan() : nil
        let sending = RedriveSending(
            plan: source, door: door ?? source?.door ?? "", patience: .seconds(timeout),
            letters: plan.selected.map(\.letter), commands: commands)
        return try await SocketThread.run(name: "redrive") { try sending.run() }
    }

    private func sourcePlan() throws -> HostPlan {
        guard LogPlace.isFile(place.pipeline) else {
            throw ToolFailure(
                .usage,
                "\(place.pipeline) does not say where ingest is: name the pipeline file and the logs with --logs, or --door"
            )
        }
        return try HostPlan.source(ofPipelineAt: place.pipeline, keys.pair())
    }
}
