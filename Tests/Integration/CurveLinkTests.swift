import BuiltIns
import Glibc
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// A link or door with CURVE keys rejects each client whose key it does not know. The link and the door of a stage
/// may know different keys.
@Suite struct CurveLinkTests {
    private let folder: Folder
    private let keys: [String: CurveKeyPair]
    private let context: HostContext

    init() throws {
        folder = try Folder()
        context = try HostContext()
        let names = ["ingest", "ingest.next", "match", "shop", "shop.next", "rival", "screen", "stranger"]
        keys = try Dictionary(uniqueKeysWithValues: names.map { ($0, try CurveKeyPair.generate()) })
        for (name, pair) in keys {
            try folder.write(pair.secretKey.z85, to: name + ".key")
            #expect(chmod(folder.file(name + ".key"), 0o600) == 0)
        }
    }

    private func pair(_ name: String) throws -> CurveKeyPair { try #require(keys[name]) }
    private func key(_ name: String) throws -> String { "'\(try pair(name).publicKey.z85)'" }

    /// - Parameters:
    ///   - matchKey: The `publicKey` of match, in YAML. Nil for the key that belongs to its secret key.
    ///   - secretKey: The name of the secret key that ingest uses.
    ///   - lists: The `producers` and `readers` of ingest, in YAML.
    private func pipeline(
        matchKey: String? = nil, secretKey: String = "ingest", lists: String = ""
    ) throws -> PipelineProcess {
        let yaml = """
            pipeline: curve
            data: data
            log: {sync: never}
            stages:
              ingest:
                curve:
                  publicKey: [\(try key("ingest")), \(try key("ingest.next"))]
                  secretKey: {$file: \(secretKey).key}
                  \(lists)
              match:
                from: ingest
                curve:
                  publicKey: \(try matchKey ?? key("match"))
                  secretKey: {$file: match.key}
            """
        let file = try PipelineFile.parse(yaml, file: "curve.yaml", folder: folder.path, registry: .builtIns)
        return try PipelineProcess(file, in: HostSurroundings(registry: .builtIns, context: context))
    }

    /// Runs a pipeline until `body` returns.
    private func run<Result: Sendable>(
        _ pipeline: PipelineProcess, _ body: @escaping @Sendable (Clients) throws -> Result
    ) async throws -> Result {
        let running = Task { try await pipeline.run() }
        do {
            let match = try #require(pipeline.host("match"))
            try await match.wait(for: "the link") { $0.phase == .running }
            let plan = pipeline.source.plan
            let clients = Clients(door: plan.door ?? "", link: plan.bind, keys: keys)
            let result = try await SocketThread.run(name: "clients") { try body(clients) }
            pipeline.stop()
            try await running.value
            return result
        } catch {
            pipeline.stop()
            throw error
        }
    }

    @Test func `a stage with a known key can connect, but a reader without a key is rejected`() async throws {
        let refusal = try await run(pipeline()) { try $0.refusal(of: nil, at: $0.link) }
        #expect(refusal == .keyRequired)
    }

    @Test func `a public key that does not belong to the secret key is rejected`() throws {
        let error = try #require(throws: SettingsError.self) { _ = try pipeline(matchKey: key("stranger")) }
        #expect(error.keyPath == "stages.match.curve")
        let match = try pair("match").publicKey.z85
        #expect(error.hint?.contains(match) == true)
    }

    @Test func `a producer's key cannot read, and a reader's key cannot produce`() async throws {
        let lists = "producers: {shop: \(try key("shop"))}\n      readers: {screen: \(try key("screen"))}"
        let shop = try pair("shop").publicKey.z85
        let screen = try pair("screen").publicKey.z85
        try await run(pipeline(lists: lists)) { clients in
            #expect(try clients.producer("orders", withKey: "shop").greet(timeout: .seconds(20)) == 0)
            #expect(try clients.refusal(of: "shop", at: clients.link) == .keyNotListed(shop))
            #expect(try clients.refusal(of: "screen", at: clients.link) == nil)
            let error = try #require(throws: LinkError.self) {
                _ = try clients.producer("orders", withKey: "screen").greet(timeout: .seconds(20))
            }
            #expect(error.description.contains("the key \(screen) is not listed for producing"), "\(error)")
            #expect(error.description.contains("`curve: producers`"), "\(error)")
        }
    }

    @Test func `a producer name belongs to one client, which may use either of its two keys`() async throws {
        let lists = "producers: {shop: [\(try key("shop")), \(try key("shop.next"))], rival: \(try key("rival"))}"
        try await run(pipeline(lists: lists)) { clients in
            let first = try clients.producer("orders", withKey: "shop")
            _ = try first.greet(timeout: .seconds(20))
            try first.send(Array("garbage\n".utf8), count: 1)
            while !first.isDone { try first.pump(wait: .milliseconds(100)) }
            #expect(try clients.producer("orders", withKey: "shop.next").greet(timeout: .seconds(20)) == 1)
            let error = try #require(throws: LinkError.self) {
                _ = try clients.producer("orders", withKey: "rival").greet(timeout: .seconds(20))
            }
            #expect(error.description.contains("(door.owner)"), "\(error)")
        }
    }

    @Test func `a key that is removed from the list is rejected`() async throws {
        let knownLines = try await run(pipeline(lists: "producers: {shop: \(try key("shop"))}")) {
            try $0.producer("orders", withKey: "shop").greet(timeout: .seconds(20))
        }
        #expect(knownLines == 0)
        try await run(pipeline()) { clients in
            let error = try #require(throws: LinkError.self) {
                _ = try clients.producer("orders", withKey: "shop").greet(timeout: .seconds(20))
            }
            #expect(error.description.contains("is not listed for producing"), "\(error)")
        }
    }

    @Test func `clients that know both keys of a stage can connect while it uses either key`() async throws {
        let lists = "producers: {shop: \(try key("shop"))}"
        for secretKey in ["ingest", "ingest.next", "ingest"] {
            let knownLines = try await run(pipeline(secretKey: secretKey, lists: lists)) {
                try $0.producer("orders", withKey: "shop").greet(timeout: .seconds(20))
            }
            #expect(knownLines == 0)
        }
    }

    @Test func `a client that expects another key gets an error that says so`() async throws {
        let lists = "producers: {shop: \(try key("shop"))}"
        let stranger = try pair("stranger").publicKey.z85
        try await run(pipeline(lists: lists)) { clients in
            let producer = try clients.producer("orders", withKey: "shop", expecting: ["stranger"])
            let error = try #require(throws: LinkError.self) { _ = try producer.greet(timeout: .seconds(3)) }
            #expect(error.description.contains("it has another key than \(stranger)"), "\(error)")
        }
    }

    @Test func `a client with keys is rejected by a stage without keys`() async throws {
        let file = try PipelineFile.parse(
            "pipeline: open\ndata: data\nstages: {ingest: {}, match: {from: ingest}}", file: "open.yaml",
            folder: folder.path, registry: .builtIns)
        let open = try PipelineProcess(file, in: HostSurroundings(registry: .builtIns, context: context))
        let refusal = try await run(open) { try $0.refusal(of: "shop", at: $0.link) }
        #expect(refusal == .serverHasNoKeys)
    }
}

/// Clients with contexts of their own, as on other machines. Only one thread may use them.
private struct Clients: Sendable {
    let door: String
    /// The address of ingest's link.
    let link: String
    let keys: [String: CurveKeyPair]

    private func makeSocket(withKey name: String?, expecting servers: [String]) throws -> ClientSocket {
        let servers = try servers.map { try #require(keys[$0]).publicKey }
        let own = try name.map { try #require(keys[$0]) }
        return try ToolSocket.make(keys: own.map { ClientKeys(own: $0, servers: servers) }, HostContext())
    }

    /// - Parameter key: The name of the client's key in ``keys``.
    func producer(
        _ name: String, withKey key: String, expecting servers: [String] = ["ingest", "ingest.next"]
    ) throws -> Producer {
        try Producer(
            makeSocket(withKey: key, expecting: servers), endpoint: door, name: name, secret: ProducerSecret.random())
    }

    /// Why a stage rejects a connection; nil if it accepts the connection and answers.
    ///
    /// - Parameter key: The name of the client's key in ``keys``. Nil for a client without a key.
    func refusal(of key: String?, at endpoint: String) throws -> ConnectionRefusal? {
        let socket = try makeSocket(withKey: key, expecting: ["ingest", "ingest.next"])
        defer { socket.close() }
        try socket.connect(endpoint)
        let (poller, message) = (ZMQPoller(), ZMQMultipart())
        poller.add(socket)
        let limit = ContinuousClock.now + .seconds(20)
        while .now < limit {
            _ = try socket.send([LinkFrame.health()], wait: false)
            _ = try poller.poll(timeoutMilliseconds: 50)
            if try socket.receive(into: message, wait: false) == .received { return nil }
            if let refusal = try socket.checkConnection(at: .now), refusal.isCertain { return refusal }
        }
        throw LinkError.silent(endpoint: endpoint, waited: .seconds(20))
    }
}
