import EventLog
import JetStream
import NATS
import PipelineKit

/// What can be learned about a home from outside, without changing anything.
package struct HomeState: Sendable {
    package struct Server: Sendable {
        package let address: String
        /// Nil if the server does not answer.
        package let info: ServerInfo?
        /// Why it does not answer.
        package let failure: String?
    }

    package struct Stream: Sendable {
        package let log: String
        /// Whether the stream has the log's snapshots instead of its events.
        package let hasSnapshots: Bool
        /// Nil if nobody could say.
        package let info: StreamInfo?
        /// Why nobody could say. Nil for a log that has no stream yet.
        package let failure: String?
    }

    package let servers: [Server]
    /// The streams of the logs, and those of their dead letters and snapshots that exist. Empty if no server accepts a
    /// connection.
    package let streams: [Stream]
    /// Why no server accepts a connection.
    package let failure: String?

    /// How long each server may take to answer.
    private static let limit = Duration.seconds(2)

    /// Asks the servers. Blocks its thread.
    ///
    /// - Parameter logs: The names of the pipeline's logs, without those for dead letters.
    /// - Throws: ``PipelineKit/SettingsError`` if the settings are invalid or a secret cannot be read.
    package init(of settings: HomeSettings, pipeline: String, logs: [String]) throws {
        let connection = try JetStreamHome.connection(settings)
        servers = connection.servers.map { address in
            do throws(NATSError) {
                return Server(
                    address: "\(address)", info: try ServerInfo(of: address, atMost: Self.limit), failure: nil)
            } catch { return Server(address: "\(address)", info: nil, failure: "\(error)") }
        }
        do throws(NATSError) {
            let jetStream = JetStream(try NATSConnection(connection), answerTimeout: Self.limit)
            let others = logs.flatMap { log in
                [
                    Stream(log + ".dead-letters", pipeline, jetStream),
                    Stream(log, pipeline, jetStream, hasSnapshots: true),
                ]
            }
            streams = logs.map { Stream($0, pipeline, jetStream) } + others.filter { $0.info != nil }
            failure = nil
            jetStream.connection.close()
        } catch { (streams, failure) = ([], "\(error)") }
    }
}

extension HomeState.Stream {
    fileprivate init(_ log: String, _ pipeline: String, _ jetStream: JetStream, hasSnapshots: Bool = false) {
        (self.log, self.hasSnapshots) = (log, hasSnapshots)
        do throws(JetStreamError) {
            let name = try HomeName(pipeline: pipeline, log: log)
            info = try jetStream.info(hasSnapshots ? name.snapshots.stream : name.stream)
            failure = nil
        } catch {
            (info, failure) = (nil, error.isStreamNotFound ? nil : "\(error)")
        }
    }
}

extension ServerInfo {
    /// Whether the server may lose what it has acknowledged: versions before 2.10.29 cannot sync each message to the
    /// disk, and may elect a leader that lacks messages.
    package var isForTestsOnly: Bool { !isAtLeast(2, 10, 29) }

    /// Whether the server takes messages of every size that a home sends.
    package var takesAllMessages: Bool { payloadBytesMax >= HomeProblem.payloadBytesNeeded }
}
