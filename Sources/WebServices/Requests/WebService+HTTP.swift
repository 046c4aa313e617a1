import CloudKitModel
import HTTPServer
import HTTPTypes
import Time

/// The gateway at the HTTP server.
extension WebService {
    var serverOptions: WebServerOptions {
        var options = WebServerOptions(host: settings.host, port: settings.port)
        options.limits.bodyBytesMax = RequestBody.bytesMax
        options.bodyBytesMax = { [tickets] path in
            tickets.allowsUpload(to: path, at: .wall()) ? AssetFolder.bytesMax : nil
        }
        options.eventLoopThreads = 2
        options.requestIDs = RequestIDs(header: Self.requestIDHeader) { [ids] in ids.uuid() }
        options.refuse = { [ids] refusal, headers in
            Self.refusal(refusal, uuid: headers[Self.requestIDHeader] ?? ids.uuid())
        }
        return options
    }

    func address(port: Int) -> String {
        "http://\(settings.host.contains(":") ? "[\(settings.host)]" : settings.host):\(port)"
    }

    func answer(_ request: WebRequest) async -> WebResponse {
        let answer = await answer(
            ServiceRequest(
                method: request.method.rawValue, path: request.path, query: request.query ?? "",
                header: { request.values(ofHeader: $0) }, body: request.body, client: request.client ?? "",
                id: request.id ?? "", now: .wall()))
        return WebResponse(answer, status: HTTPResponse.Status(code: answer.status))
    }

    /// The answer to a request that the server refuses by itself.
    private static func refusal(_ refusal: WebServerRefusal, uuid: String) -> WebResponse {
        let code = refusal == .bodyTooLong ? ServerErrorCode.quotaExceeded : .badRequest
        return WebResponse(ServiceError(code, refusal.reason).answer(uuid: uuid), status: refusal.status)
    }

    private static let requestIDHeader =
        HTTPField.Name("X-Apple-Request-UUID") ?? .date
}

extension WebRequest {
    /// - Parameter name: In lower case.
    func values(ofHeader name: String) -> [String] {
        let fields = HTTPField.Name(name).map { headers[values: $0] } ?? []
        // swift-nio-extras moves the first Host header of HTTP/1.1 to where HTTP/2 has it.
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
    fileprivate var reason: String {
        switch self {
        case .malformed: "the request is not HTTP"
        case .bodyTooLong:
            "the body is longer than \(RequestBody.bytesMax) bytes, or the asset longer than \(AssetFolder.bytesMax)"
        case .targetTooLong: "the path with its query is too long"
        case .headTooLong: "the headers are too long"
        }
    }
}
