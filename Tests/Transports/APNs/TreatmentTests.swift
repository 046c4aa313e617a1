import Testing
import Time

@testable import TransportAPNs

/// Tests what each answer means for the push and the connection. Sources: Apple's page "Handling notification responses
/// from APNs", and answers that other clients of APNs have reported.
@Suite struct Treatments {
    private static let table: [(Int, String, Treatment.Push, Treatment.Connection)] = [
        (200, "", .accept, .keep),
        (400, "BadCollapseId", .fail, .keep),
        (400, "BadDeviceToken", .unknownAddress, .keep),
        (400, "BadExpirationDate", .fail, .keep),
        (400, "BadMessageId", .fail, .keep),
        (400, "BadPriority", .fail, .keep),
        (400, "BadTopic", .stop, .keep),
        (400, "DeviceTokenNotForTopic", .unknownAddress, .keep),
        (400, "DuplicateHeaders", .fail, .keep),
        (400, "IdleTimeout", .retryOnce(.retryLater(.briefly)), .replace),
        (400, "InvalidPushType", .fail, .keep),
        (400, "MissingDeviceToken", .fail, .keep),
        (400, "MissingTopic", .stop, .keep),
        (400, "PayloadEmpty", .fail, .keep),
        (400, "TopicDisallowed", .retryOnce(.stop), .replace),
        (403, "BadCertificate", .stop, .renew),
        (403, "BadCertificateEnvironment", .stop, .renew),
        (403, "ExpiredProviderToken", .retryOnce(.stop), .refreshToken),
        (403, "Forbidden", .fail, .keep),
        (403, "InvalidProviderToken", .stop, .renew),
        (403, "MissingProviderToken", .stop, .keep),
        (403, "UnrelatedKeyIdInToken", .retryOnce(.retryLater(.briefly)), .replace),
        (403, "BadEnvironmentKeyIdInToken", .stop, .keep),
        (403, "BadEnvironmentKeyInToken", .stop, .keep),
        (403, "TopicMismatch", .stop, .keep),
        (404, "BadPath", .fail, .keep),
        (405, "MethodNotAllowed", .fail, .keep),
        (410, "ExpiredToken", .unregistered, .keep),
        (410, "Unregistered", .unregistered, .keep),
        (413, "PayloadTooLarge", .fail, .keep),
        (429, "TooManyProviderTokenUpdates", .retryOnce(.retryLater(.tokenPause)), .keepToken),
        (429, "TooManyRequests", .retryLater(.slowDevice), .keep),
        (500, "InternalServerError", .retryLater(.serverError), .suspect),
        (503, "ServiceUnavailable", .retryLater(.serverError), .keep),
        (503, "Service Unavailable", .retryLater(.serverError), .keep),
        (503, "Shutdown", .retryLater(.serverError), .replace),
        (408, "", .retryLater(.briefly), .keep),
        (421, "", .retryOnce(.retryLater(.briefly)), .replace),
        (502, "", .retryLater(.serverError), .keep),
        (504, "NewReason", .retryLater(.serverError), .keep),
        (410, "NewReason", .unregistered, .keep),
        (418, "NewReason", .fail, .keep),
        (302, "", .fail, .keep),
    ]

    @Test(arguments: table.indices)
    func `each answer is treated as the table says`(_ row: Int) {
        let (status, reason, push, connection) = Self.table[row]
        let treatment = Treatment(status: status, reason: reason)
        #expect(treatment.push == push && treatment.connection == connection, "\(status) \(reason): \(treatment)")
    }

    @Test func `the time of a 410 is read in milliseconds and in seconds, and malformed bodies are ignored`() {
        #expect(
            APNsReason(Array(#"{"reason":"Unregistered","timestamp":1700000000123}"#.utf8)).timestamp
                == Instant(microseconds: 1_700_000_000_123_000))
        #expect(
            APNsReason(Array(#"{"reason":"Unregistered","timestamp":1700000000}"#.utf8)).timestamp
                == Instant(microseconds: 1_700_000_000_000_000))
        for text in ["", "{", "[]", #"{"reason":5}"#, #"{"timestamp":-1}"#] {
            #expect(APNsReason(Array(text.utf8)) == APNsReason([]), "\(text)")
        }
    }

    @Test func `waits double up to a maximum, vary with the jitter, and are not shorter than Retry-After`() {
        let backoff = Backoff()
        #expect(backoff.wait(.serverError, attempts: 1, jitter: 0) == .seconds(720))
        #expect(backoff.wait(.serverError, attempts: 1, jitter: 0.5) == .seconds(900))
        #expect(backoff.wait(.serverError, attempts: 40, jitter: 0.5) == .seconds(7_200))
        #expect(backoff.wait(.briefly, attempts: 3, jitter: 0.5) == .seconds(4))
        #expect(backoff.wait(.briefly, attempts: 1, jitter: 0.5, retryAfter: .seconds(30)) == .seconds(30))
        #expect(backoff.wait(.briefly, attempts: 9, jitter: 0.5, retryAfter: .seconds(3)) == .seconds(60))
    }

    @Test func `Retry-After is a number of seconds or a date, and counts as at most one hour`() {
        let now = Instant(rfc3339: "2026-01-01T00:00:00Z")!
        func wait(_ text: String) -> Duration? {
            APNsAnswer(ResponseHead(status: 429, retryAfter: text), body: [], now: now).retryAfter
        }
        #expect(wait("120") == .seconds(120))
        #expect(wait("Thu, 01 Jan 2026 00:00:30 GMT") == .seconds(30))
        #expect(wait("Thu, 01 Jan 2025 00:00:30 GMT") == .zero)
        #expect(wait("99999999999") == .seconds(3_600))
        #expect(wait("soon") == nil)
    }
}
