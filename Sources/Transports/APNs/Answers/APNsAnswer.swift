import Events
import Foundation
import JSON
import Time

/// What APNs said to one request.
struct APNsAnswer: Equatable, Sendable {
    var status: Int
    /// Verbatim; empty where APNs gave none.
    var reason = ""
    /// When APNs found that the token is no longer valid.
    var timestamp: Instant?
    /// `apns-unique-id`, from development servers.
    var receipt: String?
    var retryAfter: Duration?

    /// - Parameter body: JSON of APNs, or whatever came.
    init(_ head: ResponseHead, body: [UInt8], now: Instant) {
        status = head.status
        receipt = head.uniqueID
        retryAfter = head.retryAfter.flatMap { Self.retryAfter($0, now: now) }
        guard !body.isEmpty else { return }
        let said = APNsReason(body)
        reason = said.reason
        timestamp = said.timestamp
    }

    init(status: Int, reason: String = "") {
        self.status = status
        self.reason = reason
    }

    /// Seconds or a date (RFC 9110, section 10.2.3), an hour at most.
    private static func retryAfter(_ text: String, now: Instant) -> Duration? {
        if let seconds = Int(text.prefix(9)) { return .seconds(min(max(seconds, 0), 3_600)) }
        guard let date = HTTPDate.instant(text) else { return nil }
        return min(max(date - now, .zero), .seconds(3_600))
    }
}

/// `{"reason": …, "timestamp": …}`, as it stands in answers and in GOAWAY frames.
struct APNsReason: Equatable, Sendable {
    /// Empty where the text is not JSON with a reason.
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

    /// APNs: milliseconds. Some servers that play it write seconds: no time of ours in milliseconds is so small.
    private static func instant(_ number: Int64) -> Instant? {
        guard number > 0, number < Instant.distantFuture.microseconds / 1_000 else { return nil }
        return Instant(microseconds: number < 100_000_000_000 ? number * 1_000_000 : number * 1_000)
    }
}

enum HTTPDate {
    /// IMF-fixdate, the only form that may still be sent (RFC 9110, section 5.6.7).
    static func instant(_ text: String) -> Instant? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: text.trimmingCharacters(in: .whitespaces)).map {
            Instant(microseconds: Int64($0.timeIntervalSince1970 * 1_000_000))
        }
    }
}
