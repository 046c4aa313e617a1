import Events
import Foundation
import JSON
import NIOHTTP1

/// What a request is answered with.
struct HTTPAnswer: Sendable {
    var status: HTTPResponseStatus
    var body: Data
    var headers: [(name: String, value: String)] = []

    static func json(_ bytes: some Sequence<UInt8>) -> HTTPAnswer { HTTPAnswer(status: .ok, body: Data(bytes)) }

    /// Nothing happened while a poll was held: the client asks again.
    static let empty = HTTPAnswer(status: .ok, body: Data())

    /// - Parameter code: A word for programs.
    static func refusal(_ status: HTTPResponseStatus, _ code: String, _ reason: String) -> HTTPAnswer {
        let json = ByteBuffer.object {
            $0.append("error", code)
            $0.append(.reason, reason)
        }
        return HTTPAnswer(status: status, body: Data(json.bytes))
    }

    static let unknownToken = refusal(
        .forbidden, "token.unknown", "no device is registered with this token: register one with a new token")
    static let closed = unavailable("the courier is closed")

    static func unavailable(_ reason: String) -> HTTPAnswer {
        var answer = refusal(.serviceUnavailable, "unavailable", reason)
        answer.headers = [("retry-after", "1")]
        return answer
    }

    init(status: HTTPResponseStatus, body: Data) { (self.status, self.body) = (status, body) }

    init(_ answer: Poll.Answer) {
        self =
            switch answer {
            case .notification(let payload): .json(payload)
            case .nothing: .empty
            case .unknownToken: .unknownToken
            case .tooMany: .unavailable("\(CourierLimits.pollsMax) polls wait already")
            case .failed(let reason): .unavailable(reason)
            }
    }
}
