import Events
import Foundation
import JSON
import PipelineKit
import Time

/// The owner of an inbox: a user in a container and environment.
struct Account: Hashable, Sendable {
    var container: String
    var environment: String
    var user: String
}

/// The secret address of a device: 64 hexadecimal digits, in lower case.
struct CourierToken: Hashable, Sendable {
    static let digitCount = 64

    let text: String

    init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.digitCount, text.utf8.allSatisfy(Self.isHexDigit) else { return nil }
        self.text = text.lowercased()
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}

/// A push's `apns-expiration`: polls get the push only until this time. The push stays in the inbox after this time.
struct Expiration: Sendable {
    private let seconds: Int64?

    init(headers: JSONValue?) { seconds = headers.flatMap(DeliveredPush.expiration).map { max(0, $0) } }

    /// The first microsecond in which polls no longer get the push; nil if the push does not expire. With the header 0,
    /// only polls that are already waiting when the push arrives get the push.
    func end(ofPushArrivingAt arrival: Instant) -> Int64? {
        guard let seconds else { return nil }
        return seconds == 0 ? arrival.microseconds + 1 : min(seconds, Int64.max / 1_000_000) * 1_000_000
    }
}

/// A push for one device, as the store needs it.
struct CourierPush: Sendable {
    let id: Delivery.ID
    let account: Account
    let token: CourierToken
    let apnsID: String
    let notificationID: String
    /// The payload that the device gets.
    let payload: Data
    /// The whole payload, if ``payload`` lacks parts of it because of the size. Nil in the cases that
    /// ``Delivery/unpruned`` names.
    let unprunedPayload: Data?
    let expiration: Expiration

    /// Why a push cannot be accepted.
    enum Refusal: Error {
        /// The push is not of a CloudKit app, is not JSON, or lacks its user, token, `apns-id`, notification ID or
        /// payload.
        case unreadable
        case malformedToken

        func answer(_ id: Delivery.ID) -> TransportAnswer {
            switch self {
            case .unreadable: TransportAnswer(id, .failed, reason: "not a push of a CloudKit app", attempts: 0)
            case .malformedToken:
                TransportAnswer(id, .unknownAddress, reason: "the token is not 64 hexadecimal digits", attempts: 0)
            }
        }
    }

    init(_ delivery: Delivery, _ reader: inout PushReader) throws(Refusal) {
        guard let app = delivery.app else { throw .unreadable }
        let read: Fields?
        do throws(JSONError) { read = try reader.read(delivery) { Fields($0) } } catch { throw .unreadable }
        guard let read else { throw .unreadable }
        guard let token = CourierToken(read.token) else { throw .malformedToken }
        id = delivery.id
        account = Account(container: app.container, environment: app.environment, user: read.user)
        self.token = token
        (apnsID, notificationID, payload) = (read.apnsID, read.notificationID, read.payload)
        unprunedPayload = delivery.unpruned.map { Data($0) }
        expiration = read.expiration
    }

    private struct Fields {
        let user: String
        let token: String
        let apnsID: String
        let notificationID: String
        let payload: Data
        let expiration: Expiration

        init?(_ push: DeliveredPush) {
            guard let user = push.user?.string, let token = push.token?.string, let apnsID = push.apnsID?.string,
                let notificationID = push.notificationID?.string, let payload = push.payload?.value, payload.isObject
            else { return nil }
            (self.user, self.token, self.apnsID, self.notificationID) = (user, token, apnsID, notificationID)
            self.payload = Data(payload.raw)
            expiration = Expiration(headers: push.headers?.value)
        }
    }
}
