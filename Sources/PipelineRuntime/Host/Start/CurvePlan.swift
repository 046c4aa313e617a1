import PipelineKit
import Synchronization
import ZeroMQ

/// The CURVE keys of one stage.
///
/// A stage accepts clients that use the stage's own keys, the stages that read from it, and the clients that the file
/// lists. Tools that can read the secret keys in the pipeline file use the stage's own keys.
struct CurvePlan: Sendable, Equatable {
    enum Purpose: String {
        case producing, reading

        /// The setting that lists the clients.
        var list: String { self == .producing ? "producers" : "readers" }
    }

    private let stage: String
    private let keys: CurveKeyPair
    private let publicKeys: [CurvePublicKey]
    private let upstreamKeys: [CurvePublicKey]
    private let clients: [Purpose: [CurvePublicKey: String]]

    /// Nil if the stage has no CURVE keys.
    ///
    /// - Parameter tool: The keys of a tool that speaks to the stage without the stage's secrets; nil to use the
    ///   stage's own keys.
    init?(_ stage: PipelineStage, of file: PipelineFile, tool: CurveKeyPair?) throws {
        guard let curve = stage.curve else { return nil }
        self.stage = stage.name
        keys = try tool ?? CurvePlan.keys(of: curve.secretKey)
        guard tool != nil || curve.publicKeys.contains(keys.publicKey.z85) else {
            throw stage.settings.fail(
                "curve", "publicKey is not the public half of secretKey",
                hint: "the public half is \(keys.publicKey.z85)")
        }
        publicKeys = try CurvePlan.keys(curve.publicKeys)
        let upstream = file.upstream(of: stage)?.curve?.publicKeys ?? []
        upstreamKeys = try CurvePlan.keys(curve.upstreamKeys.isEmpty ? upstream : curve.upstreamKeys)
        let stages = [stage] + file.downstream(of: stage)
        clients = [
            .producing: try CurvePlan.names(curve.producers, stages: [stage]),
            .reading: try CurvePlan.names(curve.readers, stages: stages),
        ]
    }

    private static func keys(of secret: Secret) throws -> CurveKeyPair {
        let text = try secret.reveal()
        do throws(ZMQError) { return try CurveKeyPair(secretKey: CurveSecretKey(z85: text)) } catch {
            throw secret.failure(
                "holds no secret key; a secret key has 40 characters of Z85",
                hint: "make one with `belfry curve make FILE`, and write what it prints as publicKey")
        }
    }

    private static func keys(_ texts: [String]) throws -> [CurvePublicKey] {
        try texts.map { try CurvePublicKey(z85: $0) }
    }

    private static let stageMark = "stage "

    /// Whether the client with this name is a stage.
    static func isStage(_ client: String) -> Bool { client.hasPrefix(stageMark) }

    /// The name of the client that has each key. A stage's name begins with ``stageMark``; the name of another client
    /// cannot.
    private static func names(
        _ clients: [CurveSettings.Client], stages: [PipelineStage]
    ) throws -> [CurvePublicKey: String] {
        var names: [CurvePublicKey: String] = [:]
        for client in clients { for key in try keys(client.keys) { names[key] = client.name } }
        for stage in stages {
            for key in try keys(stage.curve?.publicKeys ?? []) { names[key] = stageMark + stage.name }
        }
        return names
    }

    static func == (one: CurvePlan, other: CurvePlan) -> Bool {
        (one.stage, one.keys.publicKey, one.publicKeys) == (other.stage, other.keys.publicKey, other.publicKeys)
            && (one.upstreamKeys, one.clients) == (other.upstreamKeys, other.clients)
    }

    func secureServer(_ socket: ZMQSocket, for purpose: Purpose, _ context: HostContext) throws {
        let domain = "\(stage) \(purpose.list)"
        let authorization = try context.authorize(clients[purpose] ?? [:], in: domain)
        try socket.useCurveServer(secretKey: keys.secretKey, authorization: authorization, domain: domain)
    }

    /// The keys for a connection to the upstream; nil if the upstream has no keys.
    var toUpstream: ClientKeys? {
        upstreamKeys.isEmpty ? nil : ClientKeys(own: keys, servers: upstreamKeys)
    }

    var toSelf: ClientKeys { ClientKeys(own: keys, servers: publicKeys) }
}

/// The ZeroMQ context that the hosts of one process share, and the lists of clients that it lets in.
package final class HostContext: Sendable {
    package let zmq: ZMQContext
    private let authorization = Mutex<ClientAuthorization?>(nil)

    /// - Throws: If libzmq cannot make a context.
    package init() throws { zmq = try ZMQContext() }

    func authorize(_ clients: [CurvePublicKey: String], in domain: String) throws -> ClientAuthorization {
        try authorization.withLock { authorization in
            let current = try authorization ?? ClientAuthorization(zmq, onRefusal: RefusalNotice().report)
            current.setUserIDs(clients, in: domain)
            authorization = current
            return current
        }
    }

    /// Ends every wait on a socket of the context with the error `ETERM`.
    package func shutdown() { zmq.shutdown() }
}

/// Reports refused clients to the operator: each client once, and at most ``reportedMax`` clients.
private final class RefusalNotice: Sendable {
    private static let reportedMax = 100
    private let reported = Mutex<Set<RefusedClient>>([])

    func report(_ client: RefusedClient) {
        let isNew = reported.withLock { $0.count < RefusalNotice.reportedMax && $0.insert(client).inserted }
        guard isNew else { return }
        let words = client.domain.split(separator: " ")
        let (stage, list) = (words.first ?? "", words.last ?? "")
        let address = client.address.isEmpty ? "" : " at \(client.address)"
        StandardError.write(
            "\(stage): refused a client\(address): its key \(client.key) is not listed under `curve: \(list)`")
    }
}
