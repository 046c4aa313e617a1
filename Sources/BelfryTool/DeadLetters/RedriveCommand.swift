import ArgumentParser
import Inspect
import PipelineKit
import PipelineRuntime
import ZeroMQ

struct RedriveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Sends dead letters again.",
        discussion: """
            Shows what would be sent, to whom, and what is obsolete. It sends nothing unless you give --yes. A push \
            goes through ingest as a push.redrive: only to its device, under a new apns-id, and without its badge if a \
            newer push has set one. A command that a stage rejected (a change, subscription, device or badge) goes \
            through ingest as a new command. Letters are sent in the order of the stages, the oldest of each log \
            first, and at most --limit letters in one run.

            Obsolete letters are left out:

              redriven                it was redriven before; if that failed too, the
                                      failure is a letter of its own
              expired                 its apns-expiration has passed; --include sends it
                                      once, with apns-expiration 0
              superseded              for a push: a newer push with its collapse ID was
                                      accepted, is waiting or will be redriven; for a push
                                      with only a badge: a newer push with a badge was
                                      accepted or is waiting; for a command: there is a
                                      newer command for the same record, subscription,
                                      device or badge
              device.registered_anew  the device has another token, topic or transport;
                                      --include sends it there
              device.unregistered, device.retired, device.replaced
                                      the device is gone; another device may have its token

              belfry dead-letters redrive Pipelines/quickstart.yaml --reason BadTopic
              belfry dead-letters redrive Pipelines/quickstart.yaml --reason BadTopic --limit 10 --yes
              belfry dead-letters redrive Pipelines/quickstart.yaml --device alice-phone --include superseded --yes
              belfry dead-letters redrive out --json | jq -c 'select(.type == "redrive").command'

            Exits with 0 if letters were sent or no letter can be redriven, with 1 if letters can be redriven and --yes is \
            missing, with 65 if a letter was refused, with 69 if ingest does not answer. In a pipe, or with --json, it \
            prints an object for each letter, then a summary: type (redrive with its command, left_out, refused, summary).
            """)

    @OptionGroup var deadLetterLogs: DeadLetterLogsOptions

    @OptionGroup(title: "Filters")
    var options: DeadLetterOptions

    @Option(
        help: "Redrive these obsolete letters too: redriven, expired, superseded or device.registered_anew.")
    var include: [Obsolescence] = []

    @Option(parsing: .unconditional, help: "Redrive at most this many letters, the first in the order of sending.")
    var limit = 1_000

    @Flag(help: "Send them.")
    var yes = false

    @Option(help: "The door's address, if it differs from the pipeline file's.")
    var door: String?

    @OptionGroup var keys: KeyOptions

    @OptionGroup var timeout: TimeoutOption

    @OptionGroup var output: JSONOption

    func validate() throws {
        if door != nil, keys.key != nil {
            throw ValidationError(
                "--door and --key are both given. To use --key, Belfry also needs the public key of the door's stage, "
                    + "which only the pipeline file contains: remove --door")
        }
        if limit < 1 { throw ValidationError("--limit takes a number from 1 on, not \(limit)") }
        if let useless = include.first(where: { !Obsolescence.includable.contains($0) }) {
            let known = Obsolescence.includable.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(
                "--include \(useless.rawValue): no device could get these pushes; you can include \(known)")
        }
    }

    func run() async throws {
        let plan = RedrivePlan(try deadLetterLogs.find(options.filter, including: include), limit: limit)
        let commands = RedriveCommands(folder: plan.found.logs.folder, now: deadLetterLogs.now ?? .wall())
        var text = RedriveText(plan: plan, content: commands.content)
        let isForPeople = !output.isJSON
        if isForPeople { try write(text.preview()) }
        if yes, plan.redrivableCount > 0 { text.sent = try await send(plan, commands) }
        if isForPeople {
            try write(text.verdict)
        } else {
            try text.json({ try Self.text(of: $0, commands) }, { try StandardOutput.write(line: $0) })
            for line in text.verdict { StandardError.write(line) }
        }
        if let sent = text.sent, sent.refused > 0 { throw ToolFailure(.badData) }
        if text.sent == nil, plan.redrivableCount > 0 { throw ToolFailure(.no) }
    }

    private func write(_ lines: [String]) throws {
        for line in lines { try StandardOutput.write(line: line) }
    }

    private static func text(of letter: DeadLetter, _ commands: RedriveCommands) throws -> String? {
        do {
            return String(decoding: try commands.command(letter), as: UTF8.self)
        } catch is RedriveCommands.ImpossibleCommand {
            return nil
        }
    }

    private func send(_ plan: RedrivePlan, _ commands: RedriveCommands) async throws -> RedriveTotals {
        let doorPlan = try door == nil ? sourcePlan() : nil
        let sending = RedriveSending(
            plan: doorPlan, door: door ?? doorPlan?.door ?? "", silenceMax: timeout.duration,
            letters: plan.selected.map(\.letter), commands: commands, continuation: plan.continuation)
        return try await SocketThread.run(name: "redrive") { try sending.run() }
    }

    private func sourcePlan() throws -> HostPlan {
        let pipeline = deadLetterLogs.place.pipeline
        guard LogPlace.isFile(pipeline) else {
            throw ToolFailure(
                .usage,
                "\(pipeline) does not name ingest's door: name the pipeline file, and the logs with --logs; or give --door"
            )
        }
        return try HostPlan.source(ofPipelineAt: pipeline, keys.pair(), atMost: timeout.duration)
    }
}
