import CloudKitModel
import Events
import HTTPServer
import HTTPTypes
import Time

/// Connects the service to the HTTP server.
extension WebService {
    /// - Parameter log: Called with an entry for each request whose headers were read; nil if the gateway has no access
    ///   log.
    func serverOptions(
        _ certificate: ServerCertificate?, log: (@Sendable (AccessLogEntry) -> Void)?
    ) -> WebServerOptions {
        var options = WebServerOptions(settings.address)
        options.limits.bodyBytesMax = RequestBody.bytesMax
        (options.limits.heldBodyBytesMax, options.limits.heldAnswerBytesMax) =
            (Self.heldBodyBytesMax, Self.heldBodyBytesMax)
        if settings.isBehindTLS { options.forwardedClient = WebServerOptions.lastForwardedClient }
        options.needsBody = { [self] in needsBody($0) }
        options.bodyBytesMax = { [tickets] path in
            if path.hasPrefix(Self.signInPath) { return Self.signInBytesMax }
            return tickets.allowsUpload(to: path, at: .wall()) ? AssetFolder.bytesMax : nil
        }
        (options.certificate, options.logRequest) = (certificate, log)
        options.eventLoopThreads = 2
        options.requestIDs = RequestIDs(header: Self.requestIDHeader) { [ids] in ids.newUUID() }
        options.refuse = { [ids, origins = settings.origins] refusal, headers, id in
            var answer = Self.refusal(refusal, uuid: id ?? ids.newUUID())
            origins.addHeaders(to: &answer.headers, of: headers, Self.permissions)
            return answer
        }
        return options
    }

    func address(port: Int) -> String { "\(scheme)://\(settings.address.text(port: port))" }

    var scheme: String { settings.tls == nil ? "http" : "https" }

    func answer(_ request: WebRequest) async -> WebResponse {
        let isPreflight = request.isPreflight && !settings.origins.names.isEmpty
        var response = isPreflight ? WebResponse(status: .noContent) : await serviceResponse(to: request)
        settings.origins.addHeaders(
            to: &response.headers, of: request.headers, Self.permissions, isPreflight: isPreflight)
        return response
    }

    private func serviceResponse(to request: WebRequest) async -> WebResponse {
        let answer = await answer(
            ServiceRequest(
                method: request.method.rawValue, path: request.path, query: request.query ?? "",
                header: { request.values(ofHeader: $0) }, body: request.body,
                client: request.clientNetwork,
                id: request.id ?? "", now: .wall(), whenClientIsGone: { request.whenClientIsGone($0) }))
        if settings.accessLog != nil { request.note(answer.notes.members) }
        return WebResponse(answer, status: HTTPResponse.Status(code: answer.status))
    }

    /// The answer to a request that the server refuses by itself.
    private static func refusal(_ refusal: WebServerRefusal, uuid: String) -> WebResponse {
        let error = ServiceError(refusal.code, refusal.reason, retryAfter: refusal.retryAfterSeconds)
        return WebResponse(error.answer(uuid: uuid), status: refusal.status)
    }

    private static let requestIDName = "X-Apple-Request-UUID"
    private static let requestIDHeader = HTTPField.Name(requestIDName) ?? .date
    private static let permissions = AllowedOrigins.Permissions(
        methods: "GET, POST, PUT", headers: "content-type",
        exposedHeaders: "\(requestIDName), \(webTokenHeader), retry-after")
}

extension RequestNotes {
    fileprivate var members: [AccessLogEntry.Note] {
        [
            user.map { AccessLogEntry.Note(.user, $0) }, key.map { AccessLogEntry.Note("key", $0) },
            error.map { AccessLogEntry.Note("serverErrorCode", $0.rawValue) },
        ].compactMap(\.self)
    }
}

extension WebRequest {
    // The Fetch standard, section 3.3.2: a CORS preflight.
    fileprivate var isPreflight: Bool { method == .options && headers[.accessControlRequestMethod] != nil }

    /// - Parameter name: In lower case.
    func values(ofHeader name: String) -> [String] {
        let fields = HTTPField.Name(name).map { headers[values: $0] } ?? []
        // swift-nio-extras moves the first Host header of HTTP/1.1 to the authority, as in HTTP/2.
        return name == "host" ? [head.authority].compactMap(\.self) + fields : fields
    }
}

extension WebResponse {
    init(_ answer: ServiceAnswer, status: HTTPResponse.Status) {
        var headers: HTTPFields = [.contentType: answer.contentType, .cacheControl: "no-store"]
        for (name, value) in answer.headers {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        self.init(status: status, headers: headers, body: answer.body)
    }
}

extension WebServerRefusal {
    fileprivate var code: ServerErrorCode {
        switch self {
        case .malformed, .targetTooLong, .headTooLong: .badRequest
        case .bodyTooLong: .quotaExceeded
        case .tooManyBodies, .tooManyAnswers, .pathInUse: .tryAgainLater
        }
    }

    fileprivate var reason: String {
        switch self {
        case .malformed:
            "the request is not valid HTTP; it needs exactly one Host header, and no Transfer-Encoding except chunked"
        case .bodyTooLong:
            "the body is too long. A request may have at most \(RequestBody.bytesMax) bytes: send several requests. A "
                + "sign-in may have at most \(WebService.signInBytesMax) bytes. The file of an asset may have at most "
                + "\(AssetFolder.bytesMax) bytes, and only at an address from assets/upload that has not expired"
        case .tooManyBodies:
            "the gateway has no room for the body beside the bodies that it holds already; send the request again"
        case .tooManyAnswers:
            "the gateway has no room for this answer, because it holds too many answers that clients have not read "
                + "yet; it may have carried out this request; read the earlier answers, then send the request again"
        case .pathInUse:
            "another request sends a file to this address; wait until it ends, or get a new address by assets/upload"
        case .targetTooLong: "the path with its query is too long"
        case .headTooLong: "the headers are too long"
        }
    }
}
