import Foundation
import FoundationNetworking

/// Reads the inboxes of the courier over HTTP, and marks notifications as read.
///
/// The inbox of a user contains the user's notifications as they were before they were cut to APNs' limit of 4,096
/// bytes. Only a notification of more than 1 MiB stays cut. Each courier token of the user opens the inbox.
struct CourierInboxClient: Sendable {
    enum Answer: Sendable {
        /// The body of an answer with the status 200.
        case body([UInt8])
        /// The courier does not know the token, or does not know it yet.
        case unknownCourierToken
        /// The change token belongs to another log, or is ahead of the courier's log.
        case changeTokenExpired
        /// The courier cannot be reached, or it answered with another status, such as 503. `retryAfter`: the seconds of
        /// the answer's Retry-After; nil if no answer came, or if the answer does not give seconds there.
        case unavailable(retryAfter: Int?)
    }

    // RFC 9110, sections 15.5.4 and 15.5.11. The courier answers an unknown courier token with 403, and an expired
    // change token with 410.
    private static let (forbidden, gone) = (403, 410)
    private static let timeout: TimeInterval = 10

    private let address: String
    private let session = URLSession(configuration: .ephemeral)

    /// - Parameter address: The courier's address, such as `http://127.0.0.1:7480`.
    init(address: String) { self.address = address }

    /// The notifications that came or were read since `changeToken`.
    ///
    /// - Parameter changeToken: Nil for all notifications.
    func changes(of courierToken: String, since changeToken: String?, limit: Int) async -> Answer {
        guard var components = URLComponents(string: "\(address)/courier/\(courierToken)/notifications") else {
            return .unavailable(retryAfter: nil)
        }
        components.queryItems =
            [URLQueryItem(name: "limit", value: "\(limit)")]
            + [changeToken.map { URLQueryItem(name: "since", value: $0) }].compactMap(\.self)
        return await answer(to: components.url.map { URLRequest(url: $0) })
    }

    /// - Parameter body: `{"notificationIDs":[…]}`.
    func markRead(of courierToken: String, _ body: [UInt8]) async -> Answer {
        var request = URL(string: "\(address)/courier/\(courierToken)/read").map { URLRequest(url: $0) }
        request?.httpMethod = "POST"
        request?.httpBody = Data(body)
        return await answer(to: request)
    }

    private func answer(to request: URLRequest?) async -> Answer {
        guard var request else { return .unavailable(retryAfter: nil) }
        request.timeoutInterval = Self.timeout
        do {
            let (data, response) = try await session.data(for: request)
            let answer = response as? HTTPURLResponse
            switch answer?.statusCode {
            case 200: return .body(Array(data))
            case Self.forbidden: return .unknownCourierToken
            case Self.gone: return .changeTokenExpired
            default:
                return .unavailable(retryAfter: answer?.value(forHTTPHeaderField: "retry-after").flatMap { Int($0) })
            }
        } catch { return .unavailable(retryAfter: nil) }
    }
}
