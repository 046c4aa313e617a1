import EventLog
import Glibc
import JetStream
import NATS
import Synchronization
import Time

/// Keeps the logs of a pipeline in streams on NATS servers, one stream for each log.
///
/// All logs of a process share one connection.
package final class JetStreamHome: LogHome {
    package struct Settings: Sendable {
        /// The name of the pipeline, which is a part of the streams' names.
        package var pipeline: String
        package var servers: NATSSettings
        /// On how many servers each message is stored: 1, 3 or 5.
        package var replicas: Int
        /// The name of this host.
        package var host: String
        /// How long the opening of a log waits for the servers.
        package var openTimeout = Duration.seconds(20)
        package var writer = StreamWriter.Settings()

        package init(pipeline: String, servers: NATSSettings, replicas: Int, host: String = .hostName) {
            (self.pipeline, self.servers, self.replicas, self.host) = (pipeline, servers, replicas, host)
        }
    }

    let settings: Settings
    /// Tells the operator that a log cannot be stored at the moment, or that it can be stored again.
    private let say: @Sendable (String) -> Void
    private let connection = Mutex<NATSConnection?>(nil)
    private let interruption = StreamWriter.Interruption()
    private let delays = HomeDelays()

    package init(_ settings: Settings, say: @escaping @Sendable (String) -> Void) {
        (self.settings, self.say) = (settings, say)
    }

    /// The stream of a log.
    package static func stream(pipeline: String, log: String) throws(JetStreamError) -> StreamName {
        try HomeName(pipeline: pipeline, log: log).stream
    }

    package func open(_ log: String, identity: LogIdentity) throws(EventLogError) -> any HomeLog {
        try HomeProblem.catching(log) {
            try open(log, identity) { jetStream, wanted throws(JetStreamError) in try jetStream.infoOrNew(wanted) }
        }
    }

    package func find(_ log: String, identity: LogIdentity) throws(EventLogError) -> (any HomeLog)? {
        try HomeProblem.catching(log) {
            do {
                return try open(log, identity) { jetStream, wanted throws(JetStreamError) in
                    try jetStream.info(wanted.name)
                }
            } catch let error as JetStreamError where error.isStreamNotFound { return nil }
        }
    }

    package func snapshots(of log: String, identity: LogIdentity) throws(EventLogError) -> [HomeSnapshot] {
        try HomeProblem.catching(log) {
            let name = try HomeName(pipeline: settings.pipeline, log: log)
            let jetStream = JetStream(try connect(log), answerTimeout: settings.writer.answerTimeout)
            return try SnapshotStream(
                jetStream, name.snapshots, of: log, identity, settings, interruption, say: say
            ).snapshots()
        }
    }

    package func remove(_ log: String) throws(EventLogError) {
        try HomeProblem.catching(log) {
            try JetStream(try connect(log)).delete(HomeName(pipeline: settings.pipeline, log: log).stream)
        }
    }

    private func open(
        _ log: String, _ identity: LogIdentity,
        _ info: (JetStream, StreamSettings) throws(JetStreamError) -> StreamInfo
    ) throws -> any HomeLog {
        let name = try HomeName(pipeline: settings.pipeline, log: log)
        let jetStream = JetStream(try connect(log), answerTimeout: settings.writer.answerTimeout)
        let wanted = settings.stream(name.stream, name.subjects, HomeIdentity(log: log, identity: identity))
        let found = try HomeProblem.waiting(settings.openTimeout) { () throws(JetStreamError) in
            try info(jetStream, wanted)
        }
        let identity = try HomeProblem.identity(in: found, wanted, log)
        try HomeProblem.check(jetStream.connection)
        return JetStreamLog(
            jetStream, name, log: log, identity: identity, settings, interruption, delays, say: say)
    }

    package func beacons(of log: String) throws(EventLogError) -> any HomeBeacons {
        try HomeProblem.catching(log) {
            try JetStreamBeacons(connect(log), subject: HomeName(pipeline: settings.pipeline, log: log).alive)
        }
    }

    package var delay: HomeDelay? { delays.current }

    package func interrupt() { interruption.interrupt() }

    package var isInterrupted: Bool { interruption.isInterrupted }

    private func connect(_ log: String) throws -> NATSConnection {
        try connection.withLock { connection in
            if let connection { return connection }
            let new = try newConnection(log)
            connection = new
            warn(of: new)
            return new
        }
    }

    /// Tries until a server accepts the connection, for at most ``Settings/openTimeout``: after a power failure the
    /// servers may start later than the stages.
    private func newConnection(_ log: String) throws -> NATSConnection {
        let end = ContinuousClock.now + settings.openTimeout
        var hasTold = false
        while true {
            do throws(NATSError) { return try NATSConnection(settings.servers) } catch {
                guard error.isTemporary, ContinuousClock.now < end, !interruption.isInterrupted else { throw error }
                let seconds = Int((settings.openTimeout / .seconds(1)).rounded())
                if !hasTold { say("\(log): \(error); trying again for \(seconds) s") }
                hasTold = true
                usleep(200_000)
            }
        }
    }

    private func warn(of connection: NATSConnection) {
        do throws(NATSError) {
            let server = try connection.serverInfo(atMost: settings.writer.answerTimeout)
            guard server.isForTestsOnly else { return }
            say(
                "NATS server \(server.name) has version \(server.version), which is for tests only: it may lose events "
                    + "that it has acknowledged; use 2.10.29 or later, with sync_interval: always")
        } catch { say("nothing is known about the version of the NATS server: \(error)") }
    }
}

/// Which logs of this process wait for the servers, and why.
final class HomeDelays: Sendable {
    private let ofLogs = Mutex<[String: HomeDelay]>([:])

    func note(_ delay: WriterDelay?, of log: String) {
        ofLogs.withLock { $0[log] = delay.map { $0 == .diskFull ? .diskFull : .noQuorum } }
    }

    var current: HomeDelay? {
        ofLogs.withLock { $0.values.contains(.diskFull) ? .diskFull : $0.values.first }
    }
}

extension JetStreamHome.Settings {
    func stream(_ name: StreamName, _ subjects: [String], _ identity: HomeIdentity) -> StreamSettings {
        var stream = StreamSettings(name, subjects: subjects)
        (stream.note, stream.replicas) = (identity.text, replicas)
        return stream
    }
}

extension JetStream {
    /// Finds the stream of a log, or makes it.
    func infoOrNew(_ settings: StreamSettings) throws(JetStreamError) -> StreamInfo {
        do throws(JetStreamError) { return try info(settings.name) } catch  where error.isStreamNotFound {}
        do throws(JetStreamError) { return try create(settings) } catch {
            // Another host has made it at the same moment, with another identity.
            guard case .refused(_, _, let refusal) = error, refusal.code == JetStreamRefusal.Code.nameInUse else {
                throw error
            }
            return try info(settings.name)
        }
    }
}

extension String {
    /// The name of this machine, without characters that a header cannot have.
    package static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "unknown" }
        let name = bytes.prefix { $0 != 0 }.map { 0x21...0x7E ~= $0 ? UInt8($0) : UInt8(ascii: "?") }
        return name.isEmpty ? "unknown" : String(decoding: name, as: UTF8.self)
    }
}
