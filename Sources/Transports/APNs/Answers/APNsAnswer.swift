import Events
import Foundation
import JSON
import Time

/// APNs' answer to a request.
struct APNsAnswer: Equatable, Sendable {
    var status: Int
    /// The reason as APNs wrote it; empty if APNs gave no reason.
    var reason = ""
    /// When APNs found that the token is no longer valid.
    var timestamp: Instant?
    /// The header `apns-unique-id`, which only development servers send.
    var receipt: String?
    var retryAfter: Duration?

    /// - Parameter body: JSON with a reason, or any other bytes.
    init(_ head: ResponseHead, body: [UInt8], now: Instant) {
        status = head.status
        receipt = head.uniqueID
        retryAfter = head.retryAfter.flatMap { Self.retryAfter($0, now: now) }
        guard !body.isEmpty else { return }
        let said = APNsReason(body)
        reason = said.reason
        timestamp = said.timestamp
    }

    /// Reads a number of seconds or a date (RFC 9110, sections 5.6.7 and 10.2.3). The result is at most an hour. Nil
    /// for other texts.
    static func retryAfter(_ text: String, now: Instant) -> Duration? {
        if let seconds = Int(text.prefix(9)) { return .seconds(min(max(seconds, 0), 3_600)) }
        // IMF-fixdate, the only form of a date that servers may still send.
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date = formatter.date(from: text.trimmingCharacters(in: .whitespaces)) else { return nil }
        let wait = Instant(microseconds: Int64(date.timeIntervalSince1970 * 1_000_000)) - now
        return min(max(wait, .zero), .seconds(3_600))
    }
}

/// The object `{"reason": …, "timestamp": …}` in answers and GOAWAY frames.
struct APNsReason: Equatable, Sendable {
    /// Empty if the text is not JSON with a reason.
    var reason = ""
    var timestamp: Instant?

    init(_ body: [UInt8]) {
        var parser = JSONParser()
        body.withUnsafeBytes { bytes in
            do throws(JSONError) {
                let json = try parser.parse(bytes)
                reason = json[.reason]?.string ?? ""
                timestamp = json["timestamp"]?.int64.flatMap(Self.instant)
            } catch {}
        }
    }

    /// Reads milliseconds, which APNs sends, or seconds, which some test servers send. A number below 10¹¹ means
    /// seconds.
    private static func instant(_ number: Int64) -> Instant? {
        guard number > 0, number < Instant.distantFuture.microseconds / 1_000 else { return nil }
        return Instant(microseconds: number < 100_000_000_000 ? number * 1_000_000 : number * 1_000)
    }
}
