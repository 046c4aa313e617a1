import Foundation
import PipelineKit
import Testing

@testable import TransportWebhook

@Suite struct RetryPolicyTests {
    private let policy = RetryPolicy(attempts: 100, backoff: .milliseconds(500))

    @Test func `waits double up to the limit`() {
        let waits = (1...9).map { policy.delay(afterAttempt: $0, retryAfter: nil, jitter: 1) }
        #expect(waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30].map { Duration.seconds($0) })
        #expect(policy.delay(afterAttempt: 99, retryAfter: nil, jitter: 1) == .seconds(30))
    }

    @Test func `jitter spreads a wait over its second half`() {
        #expect(policy.delay(afterAttempt: 2, retryAfter: nil, jitter: 0) == .milliseconds(500))
        #expect(policy.delay(afterAttempt: 2, retryAfter: nil, jitter: 0.5) == .milliseconds(750))
    }

    @Test func `after the last attempt there is no retry`() {
        #expect(policy.delay(afterAttempt: 100, retryAfter: .seconds(1), jitter: 1) == nil)
    }

    @Test(arguments: [
        ("120", 120.0), (" 3 ", 3), ("0", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 7),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 0),
    ])
    func `Retry-After is read as seconds or as a date`(value: String, seconds: Double) {
        let now = Date(timeIntervalSince1970: 784_111_770)
        #expect(RetryPolicy.retryAfter(value, now: now) == .seconds(seconds))
    }

    @Test(arguments: [nil, "", "soon", "-1", "1.5"])
    func `a Retry-After that is neither seconds nor a date is ignored`(value: String?) {
        #expect(RetryPolicy.retryAfter(value, now: .now) == nil)
    }
}

@Suite struct WebhookSettingsTests {
    @Test func `the settings have the documented defaults`() throws {
        let settings = try webhookSettings("url: https://example.com/p")
        #expect(settings.timeout == .seconds(10) && settings.backoff == .milliseconds(500))
        #expect(settings.attempts == 5 && settings.concurrency == 8 && settings.headers.isEmpty)
        #expect(settings.secrets.isEmpty && settings.rules == HTTPRules())
    }

    @Test(arguments: ["ftp://x", "example.com", "https://", "https://user:secret@example.com/", ""])
    func `a url that is not http, has no host or names a user is refused`(url: String) {
        #expect(throws: PipelineFileError.self) { try webhookSettings("url: \"\(url)\"") }
    }

    @Test(arguments: ["Content-Type", "webhook-id", "two words", "\"x:\""])
    func `a header that the transport sets itself, or whose name is not valid, is refused`(name: String) {
        #expect(throws: PipelineFileError.self) { try webhookSettings("url: http://x\nheaders: {\(name): y}") }
    }

    @Test func `a header's value cannot begin another header`() {
        #expect(throws: PipelineFileError.self) { try webhookSettings("url: http://x\nheaders: {x: \"a\\r\\nb: c\"}") }
    }
}
