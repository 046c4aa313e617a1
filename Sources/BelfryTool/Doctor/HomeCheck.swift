import EventLog
import JetStreamHome
import PipelineKit
import ZeroMQ

/// Checks the NATS servers that keep the pipeline's logs.
struct HomeCheck: DoctorCheck {
    let name = "home"

    func findings(in target: DoctorTarget) async throws -> [Finding] {
        guard target.logs == nil, let file = target.file, let settings = file.log.home else { return [] }
        let logs = file.stagesInOrder.map(\.logName)
        let state = try await SocketThread.run(name: "doctor home") {
            try HomeState(of: settings, pipeline: file.name, logs: logs)
        }
        let found =
            Self.findings(state, replicas: settings.replicas)
            + (try state.streams.compactMap { try Self.lost($0, "\(file.data)/logs/\($0.log)") })
        guard found.isEmpty else { return found }
        let streams = state.streams.count { $0.info != nil }
        return [
            Finding(
                .ok, "home.complete",
                "\(state.servers.count.of("NATS server")) and \(streams.of("stream")); every replica has all events",
                ["servers": .count(state.servers.count), "streams": .count(streams)])
        ]
    }

    /// The finding if a stream is missing or lacks events that it has acknowledged.
    ///
    /// - Parameter directory: The log's own folder.
    private static func lost(_ stream: HomeState.Stream, _ directory: String) throws -> Finding? {
        guard stream.failure == nil, !stream.hasSnapshots,
            let position = try EventLogs.positionInHome(directory: directory), position > stream.info?.last ?? 0
        else { return nil }
        let found = stream.info.map { "ends with message \($0.last)" } ?? "does not exist"
        return Finding(
            .error, "home.lost",
            "\(stream.log): its stream \(found), but had acknowledged message \(position): its stage refuses to start",
            fix:
                "on the machine that wrote the log last, `belfry log repair \(stream.log) -p FILE` shows what the local files "
                + "have, and with --yes lets the next start store it again", ["log": .text(stream.log)])
    }

    /// The problems; empty if all is well.
    static func findings(_ state: HomeState, replicas: Int) -> [Finding] {
        var found = state.servers.flatMap(findings)
        if state.servers.count < replicas {
            found.append(
                Finding(
                    .warning, "home.few_servers",
                    "the file names \(state.servers.count.of("server")), but each event is stored on \(replicas)",
                    fix: "name all servers of the cluster below `servers:`, so that a stage can connect to another one")
            )
        }
        if let failure = state.failure {
            found.append(
                Finding(
                    .error, "home.unreachable", "no NATS server accepts a connection: \(failure)",
                    fix: "start the servers, or correct `servers:` and the credentials below `log:`"))
        }
        return found + state.streams.flatMap { findings($0, replicas) }
    }

    private static func findings(_ server: HomeState.Server) -> [Finding] {
        let details: KeyValuePairs<String, ReportValue> = ["server": .text(server.address)]
        guard let info = server.info else {
            return [
                Finding(
                    .warning, "home.server_silent", "\(server.address) does not answer: \(server.failure ?? "")",
                    fix: "start the server; while a majority runs, the stages continue", details)
            ]
        }
        var found: [Finding] = []
        if !info.hasJetStream {
            found.append(
                Finding(
                    .error, "home.no_jetstream", "\(server.address) has no JetStream",
                    fix: "add a `jetstream { store_dir: … }` block to the server's configuration", details))
        }
        if !info.takesAllMessages {
            found.append(
                Finding(
                    .error, "home.small_messages",
                    "\(server.address) takes messages of at most \(info.payloadBytesMax.grouped) bytes",
                    fix: "write `max_payload: 8MB` into the server's configuration", details))
        }
        if info.isForTestsOnly {
            found.append(
                Finding(
                    .warning, "home.old_server",
                    "\(server.address) has version \(info.version), which may lose events that it has acknowledged",
                    fix: "use version 2.10.29 or later, with `sync_interval: always`; this one is for tests only",
                    details))
        }
        return found
    }

    private static func findings(_ stream: HomeState.Stream, _ replicas: Int) -> [Finding] {
        let details: KeyValuePairs<String, ReportValue> = ["log": .text(stream.log)]
        if let failure = stream.failure {
            return [
                Finding(
                    .error, "home.no_quorum", "\(stream.log): \(failure)",
                    fix: "start the other servers: the stages wait until a majority runs", details)
            ]
        }
        guard let info = stream.info else { return [] }
        let behind = info.others.filter { !$0.isCurrent }.map(\.server)
        let missing = max(0, replicas - 1 - info.others.count)
        guard !behind.isEmpty || missing > 0 else { return [] }
        let names = behind.isEmpty ? "" : " (\(behind.joined(separator: ", ")))"
        return [
            Finding(
                .warning, "home.replica_behind",
                "\(stream.log)\(stream.hasSnapshots ? ", snapshots" : ""): "
                    + "\((behind.count + missing).of("replica")) of \(replicas) lack events\(names)",
                fix: "start the servers that do not run; a replica catches up by itself", details)
        ]
    }
}
