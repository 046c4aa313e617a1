import BuiltIns
import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import Synchronization
import Testing
import ZeroMQ

/// Links that leave the machine are encrypted, and only known keys may read them.
@Suite struct CurveLinkTests {
    private let folder: URL
    private let keys: [String: CurveKeyPair]

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "curve-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        keys = try Dictionary(uniqueKeysWithValues: ["ingest", "match"].map { ($0, try CurveKeyPair.generate()) })
        for (name, pair) in keys {
            let file = folder.appending(path: name + ".key")
            try pair.secretKey.z85.write(to: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        }
    }

    private func pipeline(matchKey: String) throws -> PipelineProcess {
        let ingest = try #require(keys["ingest"])
        let yaml = """
            pipeline: curve
            data: data
            log: {sync: never}
            stages:
              ingest:
                bind: tcp://127.0.0.1:\(port)
                curve:
                  publicKey: '\(ingest.publicKey.z85)'
                  secretKey: {$file: ingest.key}
              match:
                from: ingest
                curve:
                  publicKey: '\(matchKey)'
                  secretKey: {$file: match.key}
            """
        let file = try PipelineFile.parse(yaml, file: "curve.yaml", folder: folder.path)
        let surroundings = HostSurroundings(registry: .builtIns, context: try HostContext())
        return try PipelineProcess(file, in: surroundings)
    }

    private let port = Int.random(in: 20_000...29_999)

    @Test func `a stage whose key is known reads the log, a reader without a key does not`() async throws {
        let pipeline = try pipeline(matchKey: try #require(keys["match"]).publicKey.z85)
        let running = Task { try await pipeline.run() }
        let match = try #require(pipeline.host("match"))
        try await match.wait(for: "the link") { $0.phase == .running }

        let port = port
        let stranger = Task {
            try await SocketThread.run(name: "stranger") {
                let context = try ZMQContext()
                let socket = try ZMQSocket(context, .dealer)
                try socket.connect("tcp://127.0.0.1:\(port)")
                let open = #"{"type":"open","protocol":1,"name":"stranger","after":0,"credit":8388608}"#
                _ = try socket.send([Array(open.utf8)])
                let poller = ZMQPoller()
                poller.add(socket)
                return try poller.poll(timeoutMilliseconds: 700)
            }
        }
        #expect(try await stranger.value == 0)
        pipeline.stop()
        try await running.value
        try FileManager.default.removeItem(at: folder)
    }

    @Test func `a public key that does not belong to the secret key is refused by name`() throws {
        let other = try CurveKeyPair.generate().publicKey.z85
        let error = try #require(throws: SettingsError.self) { _ = try pipeline(matchKey: other) }
        #expect(error.keyPath == "stages.match.curve")
        try FileManager.default.removeItem(at: folder)
    }
}
