import ArgumentParser
import Glibc
import PipelineRuntime
import Synchronization
import ZeroMQ

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Sends commands to a running ingest.",
        discussion: """
            Sends each line as soon as it is read. Ingest acknowledges a line when its events are in the changes log \
            (with `log.sync: always`, the default, on the disk). A refused line is reported as FILE:LINE: path: reason \
            (code); the other lines are accepted. A terminal shows the first 20 refused lines; a file or a pipe gets \
            all of them. Empty lines are skipped, but counted in LINE. Warnings about a saved subscription are \
            reported in the same way. The command also prints from which event of the changes log on a saved \
            subscription is active: on a terminal for the first 20 subscriptions; in a file or a pipe for all of them, \
            as {"source":…,"line":…,"subscriptionID":…,"activeFrom":…,"warnings":[…]}.

            Exits with 65 if a line was refused, with 69 if the door does not answer within --timeout (with --wait it keeps \
            waiting), and with 77 if the door rejects the key or the --producer name belongs to somebody else.

              belfry send Pipelines/quickstart.yaml changes.ndjson
              echo '{"type":"record.delete",...}' | belfry send Pipelines/quickstart.yaml
              belfry send Pipelines/quickstart.yaml < changes.ndjson
              belfry send Pipelines/quickstart.yaml --producer shop-1 orders.ndjson
              belfry send --door tcp://10.0.0.7:7400 --key my.key --server-key KEY in.ndjson

            With --producer the door remembers the lines of this producer. After an interruption, run the same command \
            with the same input: it continues after the last line that the door accepted or refused. Lines that were \
            refused in an earlier run count as refused again, with exit status 65, but the reasons are not repeated. \
            For producers from an early version of Belfry, the door does not know how many lines were refused. Then \
            the lines of earlier runs are reported as "accepted or refused in an earlier run" and do not change the \
            exit status. If the input does not begin with the lines that the producer has sent before, nothing is sent.

            The producer name belongs to your --key or, without a key, to a secret. The secret comes from the \
            pipeline's data folder, or from the file given with --secret. A missing secret is made. If somebody else \
            has used the name first, nothing is sent: use the right key or secret, or another name.
            """)

    @Option(help: "The door's address, instead of a pipeline file.")
    var door: String?

    @Option(help: "A permanent name, so that the same input continues where it stopped.")
    var producer: String?

    @OptionGroup var keys: KeyOptions

    @Option(
        parsing: .unconditionalSingleValue,
        help: "The public key of the stage at --door; give two while the stage changes its key.")
    var serverKey: [String] = []

    @Option(help: "The file with the secret of the --producer name; it is made if it is missing.")
    var secret: String?

    @OptionGroup var timeout: TimeoutOption

    @Flag(help: "Wait without a time limit until ingest runs, or has disk space again.")
    var wait = false

    @Argument(help: "The pipeline file (unless --door is given), then files of commands; - or nothing: standard input.")
    var arguments: [String] = []

    func validate() throws {
        if door == nil, arguments.isEmpty { throw ValidationError("name a pipeline file, or the door with --door") }
        if let producer, !(1...200).contains(producer.utf8.count) || producer.hasPrefix("~") {
            throw ValidationError(
                "--producer takes a name of 1 to 200 bytes that does not begin with ~, not '\(producer.printable)'")
        }
        try validateKeys()
    }

    private func validateKeys() throws {
        for text in serverKey { _ = try CurvePublicKey(argument: text) }
        if door == nil, !serverKey.isEmpty {
            throw ValidationError("--server-key needs --door; a pipeline file contains the stage's key")
        }
        if door != nil, (keys.key == nil) != serverKey.isEmpty {
            let (given, missing) = serverKey.isEmpty ? ("--key", "--server-key") : ("--server-key", "--key")
            throw ValidationError("\(given) is given without \(missing); with --door, give both or neither")
        }
        if producer == nil, secret != nil { throw ValidationError("--secret needs --producer") }
        if door != nil, producer != nil, keys.key == nil, secret == nil {
            throw ValidationError("with --door and --producer, give --key or --secret FILE")
        }
    }

    func run() async throws {
        let pair = try keys.pair()
        let plan = try door == nil ? HostPlan.source(ofPipelineAt: arguments[0], pair, atMost: silenceMax) : nil
        let files = door == nil ? Array(arguments.dropFirst()) : arguments
        let sources = files.isEmpty ? [InputSource.standard] : files.map(InputSource.init(path:))
        try InputSource.check(sources)
        let doorKeys = try pair.map { ClientKeys(own: $0, servers: try serverKey.map(CurvePublicKey.init(argument:))) }
        let sending = Sending(
            plan: plan, door: door ?? plan?.door ?? "", doorKeys: doorKeys, producer: producer,
            secret: try producerSecret(plan),
            silenceMax: silenceMax, sources: sources)
        StopSignals.watch { number, _ in sending.stop(number) }
        let totals = try await SocketThread.run(name: "send") { try sending.run() }
        StandardError.write(totals.text)
        if totals.allRefused > 0 { throw ToolFailure(.badData) }
    }

    private var silenceMax: Duration { wait ? .seconds(Int64(1) << 32) : timeout.duration }

    private func producerSecret(_ plan: HostPlan?) throws -> String {
        if let secret { return try ProducerSecret.readOrMake(at: secret) }
        guard producer != nil, keys.key == nil, let plan else { return ProducerSecret.random() }
        do { return try plan.producerSecret() } catch AtomicTextFileError.failed(let verb, let path, EACCES) {
            let reason = AtomicTextFileError.failed(verb, path, EACCES)
            throw ToolFailure(
                .noPermission, "\(reason); use your own secret with --secret FILE, or send as the owner of this file")
        }
    }
}

extension HostPlan {
    /// The plan of the stage with the door.
    ///
    /// - Parameters:
    ///   - keys: See ``HostSurroundings/toolKeys``.
    ///   - limit: How long to wait for the host that runs the stage, in a pipeline with hosts.
    static func source(
        ofPipelineAt path: String, _ keys: CurveKeyPair? = nil, atMost limit: Duration
    ) throws -> HostPlan {
        var checked = try CheckedPipeline(path: path)
        checked = try checked.onOwner(of: checked.file.sourceStage, atMost: limit)
        var surroundings = HostSurroundings(registry: .builtIns, context: try HostContext())
        surroundings.openHome = HostSurroundings.openJetStreamHome
        surroundings.toolKeys = keys
        return try StageHost(checked.file.sourceStage, of: checked.file, in: surroundings).plan
    }
}

/// One run of `belfry send`, on a thread of its own.
private struct Sending: Sendable {
    private final class Signal: Sendable {
        let number = Atomic<Int32>(0)
    }

    let plan: HostPlan?
    let door: String
    let doorKeys: ClientKeys?
    let producer: String?
    let secret: String
    let silenceMax: Duration
    let sources: [InputSource]
    private let signal = Signal()

    /// Stops sending after a signal. A second signal, or one after the end of sending, ends the process.
    func stop(_ number: Int32) {
        if signal.number.exchange(number, ordering: .relaxed) != 0 { _exit(128 + number) }
    }

    /// - Throws: `ExitCode` with 128 plus the signal's number if ``stop(_:)`` ended the sending; otherwise the error
    ///   that ended it.
    func run() throws -> LineSender.Totals {
        defer { signal.number.store(-1, ordering: .relaxed) }
        let context = try HostContext()
        let socket =
            try plan == nil ? ToolSocket.make(keys: doorKeys, context) : ToolSocket.make(plan, context)
        defer { socket.close() }
        let producer = try makeProducer(socket)
        let sender = LineSender(producer, sources) { StandardError.write($0) }
        let printer = SavedPrinter(isForPeople: StandardOutput.isTerminal)
        sender.onSaved = { printer.print($0) }
        defer { printer.finish() }
        sender.mayContinue = { _ in signal.number.load(ordering: .relaxed) == 0 }
        do {
            let totals = try sender.run(silenceMax: silenceMax, resumes: self.producer != nil)
            let number = signal.number.load(ordering: .relaxed)
            guard number != 0 else { return totals }
            StandardError.write("stopped: \(sender.progress(producer: self.producer))")
            throw ExitCode(128 + number)
        } catch let code as ExitCode {
            throw code
        } catch {
            if let failure = error as? ToolFailure, failure.status == .badData { throw failure }
            let explained = try diskFullFailure(explaining: error) ?? ToolFailure(explaining: error)
            guard let failure = explained else { throw error }
            throw ToolFailure(failure.status, "\(failure.message)\n\(sender.progress(producer: self.producer))")
        }
    }

    private func makeProducer(_ socket: ClientSocket) throws -> Producer {
        do {
            let made = try Producer(socket, endpoint: door, name: producer ?? ProducerName.unique(), secret: secret)
            if let plan, let watch = try plan.ownerWatch() {
                made.currentEndpoint = { plan.door(on: watch.owner()) }
            }
            return made
        } catch {
            throw plan == nil ? ToolFailure.usage(explaining: error) : error
        }
    }

    /// The failure if the door is silent because the stage's disk is full; nil if the error has another cause. Also nil
    /// with `--door`, because then the stage cannot be asked for its health.
    private func diskFullFailure(explaining error: any Error) throws -> ToolFailure? {
        guard let error = error as? LinkError, case .silent = error, let plan,
            let answer = try HealthProbe(plan, try HostContext()).ask(timeout: .seconds(1)),
            let health = StageHealth(answer), health.phase == HostReport.Phase.diskFull.rawValue
        else { return nil }
        return ToolFailure(
            .unavailable,
            "\(plan.stage) has no disk space for its log in \(plan.logsDirectory) and accepts no input; free some space, and "
                + "it continues by itself (`belfry send --wait` waits for that)")
    }
}
