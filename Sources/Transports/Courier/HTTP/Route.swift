import Foundation
import HTTPServer
import HTTPTypes
import JSON

/// What a request asks for.
enum Route: Sendable, Equatable {
    case poll(CourierToken)
    case fetch(CourierToken, since: ChangeToken?, limit: Int)
    case markRead(CourierToken, ids: [String])
    /// A browser's CORS preflight request, which asks whether a web page may send a request.
    case preflight

    /// Why a request is refused.
    struct Refusal: Error, Equatable {
        let status: HTTPResponse.Status
        let code: String
        let reason: String

        init(_ status: HTTPResponse.Status, _ code: String, _ reason: String) {
            (self.status, self.code, self.reason) = (status, code, reason)
        }

        static let unknownPath = Refusal(
            .notFound, "path.unknown",
            "unknown path: use /courier/TOKEN, /courier/TOKEN/notifications or /courier/TOKEN/read")
        static let malformedToken = Refusal(
            .forbidden, "token.unknown", "the token in the path is not 64 hexadecimal digits")

        static func wrongMethod(allowed: String) -> Refusal {
            Refusal(.methodNotAllowed, "method.wrong", "this path does not support the method: use \(allowed)")
        }
    }

    init(_ request: WebRequest) throws(Refusal) {
        let method = request.method
        let path = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard (2...3).contains(path.count), path.first == "courier" else { throw .unknownPath }
        let word = path.count == 3 ? path.last : nil
        guard [nil, "notifications", "read"].contains(word) else { throw .unknownPath }
        if method == .options {
            self = .preflight
            return
        }
        guard let token = CourierToken(path.dropFirst().first ?? "") else { throw .malformedToken }
        switch word {
        case "notifications": self = try .fetch(method, token, query: request.query ?? "")
        case "read": self = try .read(method, token, request.body)
        default:
            guard method == .get || method == .post else { throw .wrongMethod(allowed: "GET or POST") }
            self = .poll(token)
        }
    }

    private static func fetch(
        _ method: HTTPRequest.Method, _ token: CourierToken, query: String
    ) throws(Refusal) -> Route {
        guard method == .get else { throw .wrongMethod(allowed: "GET") }
        var (since, limit) = (ChangeToken?.none, CourierLimits.pageEntries)
        for item in query.split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = pair.count == 2 ? pair[1] : ""
            switch pair[0] {
            case "since": since = try changeToken(value)
            case "limit": limit = try number(value)
            default:
                throw Refusal(
                    .badRequest, "query.unknown", "unknown query parameter '\(pair[0])': use since or limit")
            }
        }
        return .fetch(token, since: since, limit: min(limit, CourierLimits.pageEntriesMax))
    }

    private static func changeToken(_ text: Substring) throws(Refusal) -> ChangeToken? {
        guard !text.isEmpty else { return nil }
        guard let token = ChangeToken(text) else {
            throw Refusal(.badRequest, "since.malformed", "since is not a serverChangeToken of an earlier answer")
        }
        return token
    }

    private static func number(_ text: Substring) throws(Refusal) -> Int {
        guard let number = Int(text), number > 0 else {
            throw Refusal(.badRequest, "limit.malformed", "limit is not a whole number of at least 1")
        }
        return number
    }

    private static func read(
        _ method: HTTPRequest.Method, _ token: CourierToken, _ body: [UInt8]
    ) throws(Refusal) -> Route {
        guard method == .post else { throw .wrongMethod(allowed: "POST") }
        guard let ids = notificationIDs(in: body) else {
            throw Refusal(.badRequest, "body.malformed", "expected the body {\"notificationIDs\":[\"…\"]}")
        }
        guard ids.count <= CourierLimits.marksPerRequestMax else {
            let most = CourierLimits.marksPerRequestMax
            throw Refusal(
                .badRequest, "body.too_many",
                "the body has \(ids.count) notificationIDs: send at most \(most) in one request")
        }
        return .markRead(token, ids: ids)
    }

    private static func notificationIDs(in body: [UInt8]) -> [String]? {
        var parser = JSONParser()
        return body.withUnsafeBytes { bytes in
            do throws(JSONError) {
                guard let list = try parser.parse(bytes)["notificationIDs"], list.isArray else { return nil }
                let ids = list.elements.compactMap(\.string)
                return ids.count == list.count ? ids : nil
            } catch {
                return nil
            }
        }
    }
}
