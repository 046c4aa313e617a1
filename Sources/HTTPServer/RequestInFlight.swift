import HTTPTypes
import HummingbirdCore
import NIOCore

/// A request, from its head to the end of its answer. Only the event loop of its ``Exchange`` may use it.
final class RequestInFlight {
    let head: HTTPRequest
    /// The path as the client sent it, still percent-encoded.
    let path: String
    /// The query as the client sent it, without the question mark. Nil if the target has no query.
    let query: String?
    let id: String?
    /// The address of the client: see ``WebServerOptions/forwardedClient``.
    let client: String?
    /// The client that the request counts for in the limits of ``WebServerLimits/limitsEachClient``; nil if these
    /// limits do not apply to the request.
    let network: ClientNetwork?
    /// Whether the client asks to close the connection after the answer.
    let isLast: Bool
    /// Why the server refuses the request by itself; nil if it does not.
    private(set) var refusal: WebServerRefusal?
    /// The part of the body that has arrived. Empty if the answer does not depend on the body.
    private(set) var body: [UInt8] = []
    /// Whether the whole request has arrived.
    var isWhole = false
    /// Whether the responder has the request, or the answer is a refusal.
    var isAnswering = false
    /// The status of the answer; nil until the answer begins.
    var status: Int?
    var bodyBytesWritten = 0
    /// The room that the body takes; nil after ``takeRoom()``.
    private var room: BodyReservation?
    /// The room that the answer takes; nil if the answer is small.
    var answerRoom: BodyReservation?
    var whenAnswered: [@Sendable () -> Void] = []
    var notes: [AccessLogEntry.Note] = []
    private let needsBody: Bool
    private let bodyBytesMax: Int
    private let start = ContinuousClock.now

    init(_ head: HTTPRequest, _ server: ServerState, _ peer: Peer) {
        let (options, uri) = (server.options, URI(head.path ?? ""))
        (self.head, path, query) = (head, uri.path, uri.query)
        id = options.requestIDs?.make()
        let forwarded = options.forwardedClient?(head.headerFields)
        client = forwarded ?? peer.address
        network = options.forwardedClient == nil ? peer.network : forwarded.map { ClientNetwork($0) }
        isLast = head.headerFields[.connection] == "close"
        bodyBytesMax = options.bodyBytesMax(toPath: path)
        room = server.bodies.reservation(for: network)
        needsBody = options.needsBody(WebRequestHead(head, path: path, query: query))
        refusal = refusal(options.limits)
    }

    /// Why the server refuses the request because of its head. Claims the path if its bodies may be longer than those
    /// of other paths.
    private func refusal(_ limits: WebServerLimits) -> WebServerRefusal? {
        guard (head.path ?? "").utf8.count <= limits.targetBytesMax else { return .targetTooLong }
        let length = head.headerFields[.contentLength].map { Int($0) ?? .max } ?? 0
        guard length <= bodyBytesMax else { return .bodyTooLong }
        guard needsBody else { return nil }
        if bodyBytesMax > limits.bodyBytesMax, room?.claim(path) == false { return .pathInUse }
        return room?.hasRoom(for: length) == false ? .tooManyBodies : nil
    }

    /// Whether the answer depends on the rest of the body, which has not arrived yet.
    var needsRest: Bool { needsBody && refusal == nil && !isWhole }

    /// Adds a part of the body. Drops it if ``needsRest`` is false.
    func add(_ part: ByteBuffer) {
        guard needsRest else { return }
        if part.readableBytes > bodyBytesMax - body.count {
            refusal = .bodyTooLong
        } else if room?.add(part.readableBytes) == false {
            refusal = .tooManyBodies
        } else {
            body.append(contentsOf: part.readableBytesView)
        }
    }

    /// The caller must end the reservation when nobody uses the body any more.
    func takeRoom() -> BodyReservation? { room.take() }

    /// Gives back all room that the request holds.
    func giveBackRoom() {
        room?.end()
        answerRoom?.end()
        (room, answerRoom) = (nil, nil)
    }

    func entry(isComplete: Bool) -> AccessLogEntry {
        AccessLogEntry(
            requestID: id, client: client, method: head.method.rawValue, path: path, status: status,
            bodyBytes: bodyBytesWritten, duration: start.duration(to: .now), isComplete: isComplete, notes: notes)
    }
}

/// The other end of a connection: a client, or a proxy.
struct Peer {
    /// Nil if the address is unknown.
    let address: String?
    let network: ClientNetwork?

    init(_ address: SocketAddress?) {
        self.address = address?.ipAddress
        network = address.flatMap { ClientNetwork($0) }
    }
}
