import EventLog
import Foundation
import JetStream
import NATS
import Synchronization
import TestSupport
import Testing
import Time

@testable import JetStreamHome

/// Servers with the logs of one pipeline, and hosts with a folder each.
struct TestHome {
    let servers: NATSServers
    let folder: Folder

    init(_ count: Int = 1, hasJetStream: Bool = true, configuration: String = "") throws {
        servers = try NATSServers(count, hasJetStream: hasJetStream, configuration: configuration)
        folder = try Folder()
    }

    func jetStream() throws -> JetStream {
        JetStream(try NATSConnection(try NATSSettings(servers: servers.addresses)), answerTimeout: .seconds(5))
    }

    func home(
        _ host: String, replicas: Int = 1, openTimeout: Duration = .seconds(30),
        say: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> JetStreamHome {
        var connection = try NATSSettings(servers: servers.addresses)
        (connection.pingInterval, connection.reconnectPause) = (.milliseconds(300), .milliseconds(20))
        var settings = JetStreamHome.Settings(pipeline: "notes", servers: connection, replicas: replicas, host: host)
        settings.openTimeout = openTimeout
        (settings.writer.answerTimeout, settings.writer.pause) = (.seconds(1), .milliseconds(10))
        return JetStreamHome(settings, say: say)
    }

    func options(_ host: String, home: JetStreamHome? = nil) throws -> EventLogOptions {
        var options = EventLogOptions(directory: folder.file(host), name: "changes", segmentBytesMax: 16 << 10)
        options.home = try home ?? self.home(host)
        return options
    }

    func writer(_ host: String) throws -> EventLogWriter { try EventLogWriter(try options(host)) }

    /// The events of a host's local files.
    func events(_ host: String) throws -> [String] {
        let reader = try EventLogReader(directory: folder.file(host) + "/changes", from: .beginning)
        var events: [String] = []
        while let batch = try reader.next() {
            events += batch.body.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        }
        return events
    }

    /// Writes a snapshot of this many bytes into a host's local files.
    func snapshot(_ host: String, of log: EventLogWriter, _ position: UInt64, bytes: Int) throws -> SnapshotFile {
        let header = SnapshotHeader(
            stage: "match", version: 1, log: log.identity, upstream: log.identity,
            cursor: Cursor(["upstream": position]), sequence: log.lastSequence, now: log.lastNow)
        let state = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ Int(position)) }
        return try state.withUnsafeBytes { state in
            try SnapshotStore(logDirectory: folder.file(host) + "/changes").write(header, state: state)
        }
    }

    /// The snapshots in a host's local files.
    func snapshots(_ host: String) throws -> [SnapshotFile] {
        try SnapshotStore(logDirectory: folder.file(host) + "/changes").list()
    }

    /// The content of each segment, by the file's name.
    func segments(_ host: String) throws -> [String: Data] {
        let directory = folder.file(host) + "/changes"
        return try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".log") }
            .reduce(into: [:]) { $0[$1] = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\($1)")) }
    }
}

extension EventLogWriter {
    func keepInHome(_ file: SnapshotFile) throws {
        guard let keep = keepingSnapshotsInHome else {
            Issue.record("the log has no home")
            return
        }
        _ = try keep(file)
    }

    func append(_ number: Int, padding: String = "") throws {
        try append(lines: #"{"n":\#(number),"p":"\#(padding)"}"# + "\n", count: 1, cursor: ["upstream": UInt64(number)])
    }

    func append(lines: String, count: Int, cursor: [String: UInt64] = [:]) throws {
        try Array(lines.utf8).withUnsafeBytes { bytes in
            _ = try append(bytes, count: count, cursor: Cursor(cursor), now: lastNow.advanced(by: .seconds(1)))
        }
    }
}

/// What a home tells the operator.
final class Delays: Sendable {
    private let texts = Mutex<[String]>([])
    func add(_ text: String) { texts.withLock { $0.append(text) } }
    var all: [String] { texts.withLock { $0 } }
}
