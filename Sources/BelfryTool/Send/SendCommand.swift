import ArgumentParser
import Glibc
import PipelineRuntime
import ZeroMQ

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Sends commands to a running ingest.",
        discussion: """
            Each line is sent as soon as it has been read, and acknowledged when it is durable. A line that is refused is \
            reported as FILE:LINE: path: reason (code); the others are kept. Exits with 65 if any was refused, with 69 \
            when the door does not answer for the --timeout; with --wait it waits; with 77 when the door does not let in \
            the key, or the --producer name is another's. For each subscription saved it prints from which event of the changes log on \
            it is active, and warnings: in a pipe {"source":…,"line":…,"subscriptionID":…,"activeFrom":…,"warnings":[…]}.

              belfry send Pipelines/quickstart.yaml changes.ndjson
              echo '{"type":"record.delete",...}' | belfry send Pipelines/quickstart.yaml
              belfry send Pipelines/quickstart.yaml < changes.ndjson
              belfry send Pipelines/quickstart.yaml --producer shop-1 orders.ndjson
              belfry send --door tcp://10.0.0.7:7400 --key my.key --server-key KEY in.ndjson

            With --producer the door remembers how many lines of that producer it has, and what they were: after an \
            interruption the same command with the same input goes on behind the last line taken. Lines of the input that \
            were refused in an earlier run are counted as refused again, and so is the exit status 65; why was told then. \
            Of a producer that an earlier version of Belfry has on record the door does not know how many lines were \
            refused: they are "taken or refused in an earlier run", and change no exit status. Input that begins with \
            other lines is refused, and nothing of it is sent.

            The name belongs to your --key where you give one, else to a secret: that of the pipeline's data folder, or \
            of a file that --secret names. Both are made at the first use. Under a name that another has used first \
            nothing is sent: take that key or secret, or another name.
            """)

    @Option(help: "The door's address, instead of a pipeline file.")
    var door: String?

    @Option(help: "A lasting name: the same input sent again goes on where it stopped.")
    var producer: String?

    @OptionGroup var keys: KeyOptions

    @Option(
        parsing: .unconditionalSingleValue,
        help: "The public key of the stage at --door; given twice while the stage changes from one to the other.")
    var serverKey: [String] = []

    @Option(help: "A file with the secret that the --producer name belongs to; made where it is missing.")
    var secret: String?

    @Option(help: "Seconds to wait for the door's answer.")
    var timeout: Double = 10

    @Flag(help: "Wait for the door for as long as it takes: until ingest runs, or has room again.")
    var wait = false

    @Argument(help: "The pipeline file (unless --door is given), then files of commands; - or none: standard input.")
    var arguments: [String] = []

    func validate() throws {
        if door == nil, arguments.isEmpty { throw ValidationError("name a pipeline file, or the door with --door") }
        if let producer, !(1...200).contains(producer.utf8.count) || producer.hasPrefix("~") {
            throw ValidationError("--producer takes a name of 1 to 200 bytes that does not begin with ~")
        }
        try validateKeys()
        guard timeout > 0, timeout <= 86_400 else {
            throw ValidationError("--timeout takes a number of seconds, more than 0 and at most 86400")
        }
    }

    private func validateKeys() throws {
        for text in serverKey { _ = try CurvePublicKey(argument: text) }
        if door == nil, !serverKey.isEmpty {
            throw ValidationError("--server-key goes with --door: a pipeline file has the stage's key")
        }
        if door != nil, (keys.key == nil) != serverKey.isEmpty {
            throw ValidationError("with --door, --key and --server-key go together")
        }
        if producer == nil, secret != nil { throw ValidationError("--secret goes with --producer") }
        if door != nil, producer != nil, keys.key == nil, secret == nil {
            throw ValidationError(
                "with --door and without --key, the --producer name needs a --secret FILE that it belongs to")
        }
    }

    func run() async throws {
        let pair = try keys.pair()
        let plan = try door == nil ? HostPlan.source(ofPipelineAt: arguments[0], pair) : nil
        let files = door == nil ? Array(arguments.dropFirst()) : arguments
        let sources = files.isEmpty ? [InputSource.standard] : files.map(InputSource.init(path:))
        try InputSource.check(sources)
        let doorKeys = try pair.map { ClientKeys(own: $0, servers: try serverKey.map(CurvePublicKey.init(argument:))) }
        let sending = Sending(
            plan: plan, door: door ?? plan?.door ?? "", doorKeys: doorKeys, producer: producer,
            secret: try producerSecret(plan),
            patience: wait ? .seconds(Int64(1) << 32) : .seconds(timeout), sources: sources)
        let totals = try await SocketThread.run(name: "send") { try sending.run() }
        StandardError.write(totals.text)
        if totals.allRefused > 0 { throw ToolFailure(.badData) }
    }

    private func producerSecret(_ plan: HostPlan?) throws -> String {
        if let secret { return try ProducerSecret.kept(in: secret) }
        guard producer != nil, keys.key == nil, let plan else { return ProducerSecret.drawn() }
        do { return try plan.producerSecret() } catch AtomicTextFileError.failed(let verb, let path, EACCES) {
            let reason = AtomicTextFileError.failed(verb, path, EACCES)
            throw ToolFailure(
                .noPermission, "\(reason); name a file with a secret of your own (--secret FILE), or send as its owner")
        }
    }
}

extension HostPlan {
    /// The plan of the stage that has the door.
    ///
    /// - Parameter keys: See ``HostSurroundings/toolKeys``.
    static func source(ofPipelineAt path: String, _ keys: CurveKeyPair? = nil) throws -> HostPlan {
        let checked = try CheckedPipeline(path: path)
        var surroundings = HostSurroundings(registry: .builtIns, context: try HostContext())
        surroundings.toolKeys = keys
        return try StageHost(checked.file.sourceStage, of: checked.file, in: surroundings).plan
    }
}

/// One run of `belfry send`, on a thread of its own.
private struct Sending: Sendable {
    let plan: HostPlan?
    let door: String
    let doorKeys: ClientKeys?
    let producer: String?
    let secret: String
    let patience: Duration
    let sources: [InputSource]

    func run() throws -> LineSender.Totals {
        let context = try HostContext()
        let socket =
            try plan == nil ? ProducerSocket.make(keys: doorKeys, context) : ProducerSocket.make(plan, context)
        defer { socket.close() }
        let producer = try Producer(
            socket, endpoint: door, name: producer ?? ProducerName.passing, secret: secret)
        let sender = LineSender(producer, sources) { StandardError.write($0) }
        let printer = SavedPrinter(isForPeople: StandardOutput.isTerminal)
        sender.onSaved = { printer.print($0) }
        defer { printer.finish() }
        do { return try sender.run(patience: patience, resumes: self.producer != nil) } catch {
            if let failure = error as? ToolFailure, failure.status == .badData { throw failure }
            guard let failure = try shortage(behind: error) ?? ToolFailure(explaining: error) else { throw error }
            throw ToolFailure(failure.status, "\(failure.message)\n\(sender.progress(producer: self.producer))")
        }
    }

    /// Why the door is silent, where its stage has no room and says so; nil otherwise.
    private func shortage(behind error: any Error) throws -> ToolFailure? {
        guard let error = error as? LinkError, case .silent = error, let plan,
            let answer = try HealthProbe(plan, try HostContext()).ask(timeout: .seconds(1)),
            let health = StageHealth(answer), health.phase == HostReport.Phase.diskFull.rawValue
        else { return nil }
        return ToolFailure(
            .unavailable,
            "\(plan.stage) has no room for its log in \(plan.logsDirectory) and takes nothing in; make room: it goes on by "
                + "itself, and `belfry send --wait` with it")
    }
}
