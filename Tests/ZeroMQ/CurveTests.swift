import Glibc
import Synchronization
import Testing

@testable import ZeroMQ

@Suite struct CurveKeyTests {
    @Test func `a generated pair is written and read back unchanged`() throws {
        let pair = try CurveKeyPair.generate()
        #expect(try CurvePublicKey(z85: pair.publicKey.z85) == pair.publicKey)
        #expect(try CurveKeyPair(secretKey: CurveSecretKey(z85: pair.secretKey.z85)).publicKey == pair.publicKey)
    }

    // One random public key in 82 begins with a hyphen. `generate` draws another key in this case.
    @Test func `a generated public key never begins with a hyphen`() throws {
        for _ in 0..<500 { #expect(try !CurveKeyPair.generate().publicKey.z85.hasPrefix("-")) }
    }

    // These test keys come from implementations of CurveZMQ (ZeroMQ RFC 26).
    @Test func `the public key is derived as other CURVE implementations derive it`() throws {
        let secret = try CurveSecretKey(z85: "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs")
        #expect(try secret.publicKey().z85 == "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID")
    }

    @Test(arguments: [
        "", "short", String(repeating: "a", count: 39), String(repeating: "a", count: 41),
        String(repeating: "\"", count: 40), String(repeating: "é", count: 20), String(repeating: "\0", count: 40),
        String(repeating: "#", count: 40),
    ]) func `a text that is not a key is an error`(text: String) throws {
        #expect(try #require(throws: ZMQError.self) { try CurvePublicKey(z85: text) }.code == EINVAL)
        #expect(try #require(throws: ZMQError.self) { try CurveSecretKey(z85: text) }.code == EINVAL)
    }

    @Test func `a secret key does not show in output`() throws {
        let pair = try CurveKeyPair.generate()
        var dumped = ""
        dump(pair, to: &dumped)
        for text in ["\(pair)", String(reflecting: pair.secretKey), dumped] {
            #expect(!text.contains(pair.secretKey.z85) && text.contains("<secret>"))
        }
    }
}

@Suite struct CurveTests {
    let context: ZMQContext
    let serverKeys: CurveKeyPair
    let clientKeys: CurveKeyPair

    init() throws {
        context = try ZMQContext()
        serverKeys = try .generate()
        clientKeys = try .generate()
    }

    @Test func `a message of a known client arrives with the client's user ID`() throws {
        let server = try server(allowing: [clientKeys.publicKey])
        let client = try client(of: server)
        #expect(try client.send([[1, 2, 3]]) == .sent)
        let message = ZMQMultipart()
        #expect(try server.receive(into: message) == .received)
        #expect(message.bytes(at: 1) == [1, 2, 3])
        #expect(message.userID == clientKeys.publicKey.z85)
    }

    @Test func `an unknown client is refused and nothing it sends arrives`() throws {
        let server = try server(allowing: [try CurveKeyPair.generate().publicKey])
        let monitor = try ZMQMonitor(server)
        let client = try client(of: server)
        _ = try client.send([[1]])
        _ = try monitor.wait(for: .authenticationFailed)
        #expect(try server.receive(into: ZMQMultipart(), wait: false) == .empty)
    }

    @Test func `a client is let in once its key is added`() throws {
        let server = try server(allowing: [])
        let monitor = try ZMQMonitor(server)
        let first = try client(of: server)
        _ = try monitor.wait(for: .authenticationFailed)
        first.close()
        server.authorization?.setUserIDs(userIDs(of: [clientKeys.publicKey]), in: "door")
        let second = try client(of: server)
        _ = try second.send([[2]])
        #expect(try server.next().last == [2])
    }

    @Test func `two servers of one context have separate lists of known clients`() throws {
        let refused = Mutex<[RefusedClient]>([])
        let authorization = try ClientAuthorization(context) { client in refused.withLock { $0.append(client) } }
        authorization.setUserIDs([clientKeys.publicKey: "shop"], in: "door")
        let (door, link) = (try server(authorization, domain: "door"), try server(authorization, domain: "link"))
        let (sender, reader) = (try client(of: door), try client(of: link))
        let monitor = try ZMQMonitor(link)
        _ = try sender.send([[1]])
        _ = try reader.send([[2]])
        _ = try monitor.wait(for: .authenticationFailed)
        let message = ZMQMultipart()
        #expect(try door.receive(into: message) == .received)
        #expect(message.userID == "shop")
        #expect(try link.receive(into: ZMQMultipart(), wait: false) == .empty)
        let client = RefusedClient(domain: "link", key: clientKeys.publicKey, address: "127.0.0.1")
        #expect(refused.withLock { Set($0) } == [client])
    }

    @Test func `a client that expects another server does not talk to this one`() throws {
        let server = try server(allowing: [clientKeys.publicKey])
        let monitor = try ZMQMonitor(server)
        let client = try ZMQSocket(context, .dealer)
        try client.useCurveClient(clientKeys, serverKey: CurveKeyPair.generate().publicKey)
        try client.connect(server.lastEndpoint)
        _ = try client.send([[1]])
        _ = try monitor.wait(for: [.handshakeFailed, .disconnected])
        #expect(try server.receive(into: ZMQMultipart(), wait: false) == .empty)
    }

    @Test func `a client without encryption is refused`() throws {
        let server = try server(allowing: [clientKeys.publicKey])
        let monitor = try ZMQMonitor(server)
        let client = try ZMQSocket(context, .dealer)
        try client.connect(server.lastEndpoint)
        _ = try client.send([[1]])
        _ = try monitor.wait(for: [.handshakeFailed, .disconnected])
        #expect(try server.receive(into: ZMQMultipart(), wait: false) == .empty)
    }

    @Test func `an authorization ends after its context was shut down`() throws {
        let authorization = try ClientAuthorization(context)
        context.shutdown()
        withExtendedLifetime(authorization) {}
    }

    @Test func `a context has one authorization at a time`() throws {
        do {
            let first = try ClientAuthorization(context)
            let error = try #require(throws: ZMQError.self) { try ClientAuthorization(context) }
            #expect(error.code == EADDRINUSE)
            first.setUserIDs([:], in: "door")
        }
        _ = try ClientAuthorization(context)
    }

    @Test func `an authorization that belongs to another context is an error`() throws {
        let socket = try ZMQSocket(context, .router)
        let foreign = try ClientAuthorization(ZMQContext())
        #expect(throws: ZMQError.self) {
            try socket.useCurveServer(secretKey: serverKeys.secretKey, authorization: foreign, domain: "door")
        }
    }

    private func server(allowing clients: Set<CurvePublicKey>) throws -> ZMQSocket {
        let authorization = try ClientAuthorization(context)
        authorization.setUserIDs(userIDs(of: clients), in: "door")
        return try server(authorization, domain: "door")
    }

    /// The user ID of each key is the key as text.
    private func userIDs(of keys: Set<CurvePublicKey>) -> [CurvePublicKey: String] {
        Dictionary(uniqueKeysWithValues: keys.map { ($0, $0.z85) })
    }

    private func server(_ authorization: ClientAuthorization, domain: String) throws -> ZMQSocket {
        let socket = try ZMQSocket(context, .router)
        try socket.useCurveServer(secretKey: serverKeys.secretKey, authorization: authorization, domain: domain)
        try socket.bind("tcp://127.0.0.1:*")
        return socket
    }

    private func client(of server: ZMQSocket) throws -> ZMQSocket {
        let socket = try ZMQSocket(context, .dealer)
        try socket.useCurveClient(clientKeys, serverKey: serverKeys.publicKey)
        try socket.connect(server.lastEndpoint)
        return socket
    }
}
