import PipelineKit
import Synchronization
import ZeroMQ

/// The CURVE keys of one stage, ready for its sockets.
///
/// A tool that can read the pipeline file's secret keys acts as the stage itself, so each stage lets its own key in,
/// beside the stages that read from it and the clients that the file names.
struct CurvePlan: Sendable, Equatable {
    private let keys: CurveKeyPair
    private let upstreamKey: CurvePublicKey?
    private let clients: [CurvePublicKey]

    init?(_ stage: PipelineStage, of file: PipelineFile) throws {
        guard let curve = stage.curve else { return nil }
        keys = try CurveKeyPair(secretKey: CurveSecretKey(z85: try curve.secretKey.reveal()))
        guard keys.publicKey.z85 == curve.publicKey else {
            throw stage.settings.fail("curve", "publicKey is not the public half of secretKey")
        }
        let upstream = file.upstream(of: stage)
        upstreamKey = try (curve.upstreamKey ?? upstream?.curve?.publicKey).map { try CurvePublicKey(z85: $0) }
        let readers = file.downstream(of: stage).compactMap { $0.curve?.publicKey }
        clients = try (curve.clients + readers + [curve.publicKey]).map { try CurvePublicKey(z85: $0) }
    }

    static func == (one: CurvePlan, other: CurvePlan) -> Bool {
        (one.keys.publicKey, one.upstreamKey, one.clients) == (other.keys.publicKey, other.upstreamKey, other.clients)
    }

    func serve(_ socket: ZMQSocket, _ context: HostContext) throws {
        try socket.useCurveServer(secretKey: keys.secretKey, authorization: try context.authorize(clients))
    }

    func connect(_ socket: ZMQSocket) throws {
        guard let upstreamKey else { return }
        try socket.useCurveClient(keys, serverKey: upstreamKey)
    }

    /// Connects to the stage whose keys these are.
    func connectToSelf(_ socket: ZMQSocket) throws { try socket.useCurveClient(keys, serverKey: keys.publicKey) }
}

/// What the hosts of one process share: the ZeroMQ context and the list of clients it lets in.
public final class HostContext: Sendable {
    package let zmq: ZMQContext
    private let clients = Mutex<(keys: Set<CurvePublicKey>, authorization: ClientAuthorization?)>(
        (keys: [], authorization: nil))

    public init() throws { zmq = try ZMQContext() }

    func authorize(_ keys: [CurvePublicKey]) throws -> ClientAuthorization {
        try clients.withLock { state in
            state.keys.formUnion(keys)
            if let authorization = state.authorization {
                authorization.allow(.keys(state.keys))
                return authorization
            }
            let authorization = try ClientAuthorization(zmq, allowing: .keys(state.keys))
            state.authorization = authorization
            return authorization
        }
    }

    public func shutdown() { zmq.shutdown() }
}
