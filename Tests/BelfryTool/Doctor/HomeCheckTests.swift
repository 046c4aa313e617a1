import BuiltIns
import EventLog
import Foundation
import JetStream
import NATS
import PipelineKit
import TestSupport
import Testing
import Time

@testable import BelfryTool
@testable import JetStreamHome

@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing)) struct HomeCheckTests {
    private static func findings(_ servers: [String], replicas: Int = 1) async throws -> [Finding] {
        let folder = try TemporaryFolder()
        let addresses = servers.map { "'\($0)'" }.joined(separator: ", ")
        let path = try folder.file(
            "p.yaml",
            "pipeline: notes\ndata: data\nlog: {home: jetstream, servers: [\(addresses)], replicas: \(replicas)}\n"
                + "stages: {ingest: {}, match: {from: ingest}}\n")
        return try await HomeCheck().findings(in: DoctorTarget(path, logs: nil))
    }

    /// Makes the stream of the log `changes`.
    private static func makeStream(_ servers: NATSServers, replicas: Int) throws {
        let jetStream = JetStream(try NATSConnection(try NATSSettings(servers: servers.addresses)))
        let name = try HomeName(pipeline: "notes", log: "changes")
        var settings = StreamSettings(name.stream, subjects: name.subjects)
        settings.replicas = replicas
        let end = ContinuousClock.now + .seconds(30)
        while true {
            do {
                try jetStream.create(settings)
                return
            } catch {
                guard ContinuousClock.now < end else { throw error }
                usleep(100_000)
            }
        }
    }

    @Test(.full) func `old and silent servers, servers with a small limit and missing replicas are reported`()
        async throws
    {
        let servers = try NATSServers(3)
        try Self.makeStream(servers, replicas: 3)
        let isOld = try ServerInfo(of: ServerAddress(servers.addresses[0]), atMost: .seconds(5)).isForTestsOnly
        let whole = try await Self.findings(servers.addresses, replicas: 3)
        #expect(Set(whole.map(\.code)) == [isOld ? "home.old_server" : "home.complete"], "\(whole.map(\.text))")
        servers.end(1, with: SIGKILL)
        // The leader notices after a while.
        let end = ContinuousClock.now + .seconds(30)
        var codes: [String] = []
        while !codes.contains("home.replica_behind"), ContinuousClock.now < end {
            codes = try await Self.findings(servers.addresses, replicas: 3).map(\.code)
        }
        #expect(codes.contains("home.server_silent") && codes.contains("home.replica_behind"), "\(codes)")
        servers.end(2, with: SIGKILL)
        // A leader without followers notices after a while, too.
        var alone: [String] = []
        let later = ContinuousClock.now + .seconds(30)
        while !alone.contains("home.no_quorum"), ContinuousClock.now < later {
            alone = try await Self.findings([servers.addresses[0]], replicas: 3).map(\.code)
        }
        #expect(alone.contains("home.few_servers") && alone.contains("home.no_quorum"), "\(alone)")
        servers.end(0, with: SIGKILL)
        let gone = try await Self.findings([servers.addresses[0]]).map(\.code)
        #expect(gone == ["home.server_silent", "home.unreachable"])
    }

    @Test func `servers without JetStream or with a small max_payload are reported`() async throws {
        let without = try NATSServers(hasJetStream: false)
        #expect(try await Self.findings(without.addresses).map(\.code).contains("home.no_jetstream"))
        let small = try NATSServers(configuration: "max_payload: 1MB")
        #expect(try await Self.findings(small.addresses).map(\.code).contains("home.small_messages"))
    }

    @Test func `a stream that lacks what it had acknowledged is reported`() async throws {
        let (servers, folder) = (try NATSServers(), try TemporaryFolder())
        let path = try folder.file(
            "p.yaml",
            "pipeline: notes\ndata: data\nlog: {home: jetstream, servers: ['\(servers.addresses[0])'], replicas: 1}\n"
                + "stages: {ingest: {}}\n")
        let file = try PipelineFile.load(path: path, registry: .builtIns)
        var options = EventLogOptions(directory: file.data + "/logs", name: "changes")
        options.home = try JetStreamHome(try #require(file.log.home), pipeline: "notes", say: { _ in })
        let writer = try EventLogWriter(options)
        try Array("{}\n".utf8).withUnsafeBytes { _ = try writer.append($0, count: 1, now: Instant(microseconds: 1)) }
        try writer.close()
        func codes() async throws -> [String] {
            try await HomeCheck().findings(in: DoctorTarget(path, logs: nil)).map(\.code)
        }
        #expect(try await !codes().contains("home.lost"))
        let jetStream = JetStream(try NATSConnection(try NATSSettings(servers: servers.addresses)))
        try jetStream.delete(try HomeName(pipeline: "notes", log: "changes").stream)
        #expect(try await codes().contains("home.lost"))
    }

    @Test func `the streams of dead letters and of snapshots are checked, if they exist`() throws {
        let (servers, folder) = (try NATSServers(), try TemporaryFolder())
        let path = try folder.file(
            "p.yaml",
            "pipeline: notes\ndata: data\nlog: {home: jetstream, servers: ['\(servers.addresses[0])'], replicas: 1}\n"
                + "stages: {ingest: {}}\n")
        let file = try PipelineFile.load(path: path, registry: .builtIns)
        let settings = try #require(file.log.home)
        func streams() throws -> [String] {
            try HomeState(of: settings, pipeline: "notes", logs: ["changes"]).streams.map {
                "\($0.log) \($0.hasSnapshots) \($0.info != nil)"
            }
        }
        #expect(try streams() == ["changes false false"])
        let home = try JetStreamHome(settings, pipeline: "notes", say: { _ in })
        for name in ["changes", "changes.dead-letters"] {
            var options = EventLogOptions(directory: file.data + "/logs", name: name)
            options.home = home
            let writer = try EventLogWriter(options)
            if name == "changes", let keep = writer.keepingSnapshotsInHome {
                let header = SnapshotHeader(
                    stage: "ingest", version: 1, log: writer.identity, upstream: writer.identity,
                    cursor: Cursor(["changes": 0]), sequence: 0, now: .epoch)
                let store = SnapshotStore(logDirectory: writer.directory)
                _ = try keep(try [UInt8](repeating: 1, count: 9).withUnsafeBytes { try store.write(header, state: $0) })
            }
            try writer.close()
        }
        #expect(try streams() == ["changes false true", "changes.dead-letters false true", "changes true true"])
    }

    @Test func `a pipeline whose logs are only files has nothing to check`() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("p.yaml", "pipeline: notes\ndata: data\nstages: {ingest: {}}\n")
        #expect(try await HomeCheck().findings(in: DoctorTarget(path, logs: nil)).isEmpty)
    }
}
