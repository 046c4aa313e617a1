import EventLog
import Glibc
import JetStream
import NATS
import Time

/// Why a log's home cannot be used until somebody changes something, in words.
struct HomeProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    static func catching<Result>(_ log: String, _ work: () throws -> Result) throws(EventLogError) -> Result {
        do { return try work() } catch let error as EventLogError { throw error } catch {
            let needsChange =
                switch error {
                case is HomeProblem, JetStreamError.gap, JetStreamError.shortened, JetStreamError.deleted: true
                case JetStreamError.refused(_, _, let refusal):
                    refusal.code == JetStreamRefusal.Code.replicasNotSupported
                case let error as NATSError: !error.isTemporary
                default: false
                }
            throw needsChange ? .unusableHome(log: log, reason: "\(error)") : .home(log: log, reason: "\(error)")
        }
    }

    /// Repeats a request while its error is temporary, for at most the given time.
    static func waiting<Answer>(
        _ limit: Duration, _ request: () throws(JetStreamError) -> Answer
    ) throws(JetStreamError) -> Answer {
        let end = ContinuousClock.now + limit
        while true {
            do throws(JetStreamError) { return try request() } catch {
                guard error.isTemporary || error.isTooEarly, ContinuousClock.now < end else { throw error }
                usleep(100_000)
            }
        }
    }

    /// The identity of the log in a stream.
    ///
    /// - Throws: If the stream is not the one that this pipeline would make.
    static func identity(in info: StreamInfo, _ wanted: StreamSettings, _ log: String) throws -> LogIdentity {
        let (found, name) = (info.settings, info.settings.name)
        guard let home = HomeIdentity(found.note), home.log == log, Set(found.subjects) == Set(wanted.subjects) else {
            throw HomeProblem(
                "stream \(name) is not a stream of log '\(log)': its description or its subjects are not Belfry's; "
                    + "give the pipeline another name, or remove that stream with 'nats stream rm \(name)'")
        }
        guard found.replicas == wanted.replicas else {
            throw HomeProblem(
                "stream \(name) has \(found.replicas) replicas, but the pipeline file says \(wanted.replicas): write "
                    + "'replicas: \(found.replicas)' below 'log:', or change the stream with "
                    + "'nats stream edit \(name) --replicas=\(wanted.replicas)'")
        }
        if let bytesMax = found.bytesMax {
            throw HomeProblem(
                "stream \(name) has a limit of \(bytesMax) bytes, which would stop the pipeline: remove the limit with "
                    + "'nats stream edit \(name) --max-bytes=-1'")
        }
        return home.identity
    }

    static func check(_ connection: NATSConnection) throws {
        let bytes = connection.payloadBytesMax
        guard bytes < payloadBytesNeeded else { return }
        throw HomeProblem(
            "the server takes messages of at most \(bytes) bytes: write 'max_payload: 8MB' into the configuration file "
                + "of each NATS server")
    }

    /// The smallest `max_payload` of a server.
    static let payloadBytesNeeded = HomeMessage.bytesMax + headerBytesMax
    private static let headerBytesMax = 1 << 10
}

extension NATSError {
    /// Whether the servers can be expected to answer later, without a change by anyone.
    var isTemporary: Bool {
        switch self {
        case .unreachable, .notConnected, .connectionLost, .writeStalled, .timedOut, .noResponders, .closed: true
        default: false
        }
    }
}

extension JetStreamError {
    /// Whether a new cluster does not know all its servers yet.
    fileprivate var isTooEarly: Bool {
        guard case .refused(_, _, let refusal) = self else { return false }
        return refusal.code == JetStreamRefusal.Code.noPeers
    }
}
