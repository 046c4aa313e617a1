import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL

/// One client's connection: its streams, their answers, and its end.
final class Connection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    let number: Int
    let gate: FrameGate
    private let socketHandler: SocketHandler
    private let server: ServerState
    private var state: ConnectionState
    private var allowance: StreamAllowance
    private var streams: [Int: OpenStream] = [:]
    private var context: ChannelHandlerContext?
    /// The highest stream that the client has opened.
    private var highest = 0
    /// Streams above this number are not served any more.
    private var lastServed = Int(Int32.max)
    private var closesWhenDone = false
    private var errors = 0
    private var requests = 0

    /// A stream whose request is not answered yet.
    private struct OpenStream {
        var request: PushRequest
        var conduct: Conduct
        /// Whether the answer is determined. It may still be delayed, or never be sent.
        var isDecided = false
    }

    init(
        _ state: ConnectionState, allowance: StreamAllowance, gate: FrameGate, socketHandler: SocketHandler,
        server: ServerState
    ) {
        number = state.number
        self.state = state
        self.allowance = allowance
        self.gate = gate
        self.socketHandler = socketHandler
        self.server = server
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        server.add(self)
        report(.open(remote: Connection.text(context.remoteAddress), topic: state.certificate?.topics.first))
        report(.settings(streams: allowance.announced))
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelInactive(context: ChannelHandlerContext) {
        server.remove(self)
        report(.close(requests: requests))
        self.context = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error as? NIOSSLError != .uncleanShutdown { report(.failed(reason: "\(error)")) }
        // After an error of one stream, NIO itself resets the stream.
        guard !(error is NIOHTTP2Errors.StreamError) else { return }
        context.close(promise: nil)
    }

    private static func text(_ address: SocketAddress?) -> String {
        "\(address?.ipAddress ?? "unknown"):\(address?.port ?? 0)"
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        let id = Int(frame.streamID)
        switch frame.payload {
        case .headers(let headers): receive(headers, on: id)
        case .data(let data): receive(data, on: id)
        case .rstStream(let code): endReset(id, code)
        default: break
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let window = event as? NIOHTTP2WindowUpdatedEvent { refill(window) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        context.fireChannelReadComplete()
    }

    /// Records a step. The server records its own steps before it sends their frames, except for the first SETTINGS. So
    /// a test whose client has received such a frame finds the record.
    private func report(_ step: ConnectionEvent.Step) {
        server.report(.connection(ConnectionEvent(time: server.service.now, connection: number, step: step)))
    }
}

/// Receives the parts of requests.
extension Connection {
    private func receive(_ headers: HTTP2Frame.FramePayload.Headers, on id: Int) {
        guard id <= lastServed else { return }
        if id > highest { open(id, headers) }
        if headers.endStream { finish(id) }
    }

    private func open(_ id: Int, _ headers: HTTP2Frame.FramePayload.Headers) {
        highest = max(highest, id)
        requests += 1
        let request = PushRequest(headers: headers.headers.map { Header($0.name, $0.value) })
        guard admit(id) else { return }
        let conduct = server.service.conduct(for: request, on: state, errors: errors)
        streams[id] = OpenStream(request: request, conduct: conduct)
        if let streams = conduct.streams { announce(allowance.set(streams)) }
        if let goAway = conduct.goAway { send(goAway, cause: id) }
        if conduct.isEarly == true, streams[id] != nil { decide(id, hasBody: false) }
    }

    /// Refuses a stream above the limit, unless the quirk `overLimit` allows it.
    ///
    /// - Returns: Whether the stream is served.
    private func admit(_ id: Int) -> Bool {
        guard streams.count >= gate.allowed else { return true }
        switch server.service.check.quirks.overLimit {
        case .serve: return true
        case .refuse:
            report(.refused(stream: id))
            reset(id, .refusedStream)
        case .goaway:
            var goAway = GoAway()
            goAway.code = .refusedStream
            goAway.text = "\(streams.count + 1) active streams, \(gate.allowed) allowed"
            goAway.lastStream = .before
            send(goAway, cause: id)
        }
        return false
    }

    private func receive(_ data: HTTP2Frame.FramePayload.Data, on id: Int) {
        guard case .byteBuffer(let bytes) = data.data else { return }
        streams[id]?.request.appendBody(bytes.readableBytesView)
        if data.endStream { finish(id) }
    }

    /// Refills a receive window when a quarter of it is used. The data of ignored streams also uses the connection's
    /// window.
    private func refill(_ window: NIOHTTP2WindowUpdatedEvent) {
        let id = Int(window.streamID)
        guard let left = window.inboundWindowSize, left < 49_152, id == 0 || streams[id] != nil else { return }
        write(.windowUpdate(windowSizeIncrement: Listener.windowBytes - left), on: id)
    }

    private func finish(_ id: Int) { decide(id, hasBody: true) }

    /// Ends a stream that the client has reset.
    private func endReset(_ id: Int, _ code: HTTP2ErrorCode) {
        guard streams.removeValue(forKey: id) != nil else { return }
        report(.reset(stream: id, code: "\(code)"))
        closeIfDone()
    }
}

/// Answers requests, or ends their streams without an answer.
extension Connection {
    private func decide(_ id: Int, hasBody: Bool) {
        guard let stream = streams[id], !stream.isDecided else { return }
        streams[id]?.isDecided = true
        let answer = server.service.answer(
            stream.request, as: stream.conduct, on: &state, stream: id, hasBody: hasBody)
        if let record = answer.record { server.report(.request(record)) }
        guard let latency = stream.conduct.latencyMilliseconds, let context else {
            return perform(answer, on: id, isEarly: !hasBody)
        }
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(.random(in: latency))) {
            self.perform(answer, on: id, isEarly: !hasBody)
            self.context?.flush()
        }
    }

    private func perform(_ answer: Answer, on id: Int, isEarly: Bool) {
        guard streams[id] != nil else { return }
        switch answer.ending {
        case nil: send(answer, on: id, isEarly: isEarly)
        case .silence: break
        case .drop: socketHandler.resetConnection()
        case .reset(let code): reset(id, code)
        case .goAway(let reason):
            var goAway = GoAway()
            goAway.reason = reason
            goAway.lastStream = .id(0)
            send(goAway, cause: id)
        }
    }

    private func send(_ answer: Answer, on id: Int, isEarly: Bool) {
        guard let status = answer.status else { return }
        streams[id] = nil
        let body = answer.body
        write(.headers(.init(headers: answer.headers(status), endStream: body.isEmpty)), on: id)
        if !body.isEmpty {
            write(.data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true)), on: id)
        }
        if isEarly { write(.rstStream(.noError), on: id) }
        noteAnswer(status, answer.isAuthenticated)
        closeIfDone()
    }

    /// If an answer changes how many streams the client may have open, announces the new number. If the answer is an
    /// error, counts it, and sends GOAWAY when the count reaches ``Quirks/goAwayAfterErrors``.
    private func noteAnswer(_ status: Int, _ isAuthenticated: Bool) {
        let quirks = server.service.check.quirks
        let streams = allowance.answered(
            status: status, isAuthenticated: isAuthenticated, fallsAfterError: quirks.fallAfterError)
        announce(streams)
        guard StreamAllowance.isError(status) else { return }
        errors += 1
        if errors == quirks.goAwayAfterErrors { send(GoAway(), cause: highest) }
    }

    private func reset(_ id: Int, _ code: StreamError) {
        streams[id] = nil
        write(.rstStream(HTTP2ErrorCode(networkCode: Int(code.code))), on: id)
        closeIfDone()
    }

    private func write(_ payload: HTTP2Frame.FramePayload, on id: Int) {
        guard let context else { return }
        context.write(wrapOutboundOut(HTTP2Frame(streamID: HTTP2StreamID(id), payload: payload)), promise: nil)
    }
}

/// Changes of the whole connection.
extension Connection {
    func limit(to streams: Int) { announce(allowance.set(streams)) }

    func drop() { socketHandler.resetConnection() }

    func send(_ goAway: GoAway) { send(goAway, cause: highest) }

    private func announce(_ streams: Int?) {
        guard let streams else { return }
        context?.flush()
        report(.settings(streams: streams))
        gate.announce(streams: streams)
    }

    private func send(_ goAway: GoAway, cause: Int) {
        context?.flush()
        if goAway.isSentTwice { sendFrame(of: goAway, lastStream: Int(Int32.max)) }
        let last = lastStream(of: goAway, cause: cause)
        sendFrame(of: goAway, lastStream: last)
        lastServed = min(lastServed, last)
        for id in streams.keys where id > lastServed { streams[id] = nil }
        closesWhenDone = closesWhenDone || goAway.closes
        closeIfDone()
    }

    private func lastStream(of goAway: GoAway, cause: Int) -> Int {
        switch goAway.lastStream {
        case .current: highest
        case .before: max(0, cause - 2)
        case .all: Int(Int32.max)
        case .id(let id): id
        }
    }

    private func sendFrame(of goAway: GoAway, lastStream: Int) {
        report(.goAway(lastStream: lastStream, code: goAway.code.rawValue, debug: goAway.debug))
        gate.goAway(lastStream: lastStream, code: goAway.code.code, debug: goAway.debug)
    }

    private func closeIfDone() {
        guard closesWhenDone, let context, streams.values.allSatisfy({ $0.isDecided && $0.conduct.ending == .silence })
        else { return }
        context.flush()
        context.close(promise: nil)
    }
}

extension GoAway {
    fileprivate var debug: String {
        if let text { return text }
        guard reason != nil || timestamp != nil else { return "" }
        return Answer.json(reason, timestamp)
    }
}

extension Answer {
    fileprivate func headers(_ status: Int) -> HPACKHeaders {
        var headers: HPACKHeaders = [":status": "\(status)", "apns-id": id]
        if let uniqueID { headers.add(name: "apns-unique-id", value: uniqueID) }
        if let retryAfter { headers.add(name: "retry-after", value: "\(retryAfter)") }
        if status != 200 { headers.add(name: "content-type", value: "application/json") }
        return headers
    }
}
