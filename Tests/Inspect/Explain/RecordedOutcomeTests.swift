import JSON
import PipelineKit
import Testing

@testable import Inspect

struct RecordedOutcomeTests {
    private func outcome(_ word: String, _ more: String = "") throws -> RecordedOutcome {
        let line = #"{"type":"outcome","device":"mac","transport":"apns","outcome":"\#(word)"\#(more)}"#
        var parser = JSONParser()
        return try Array(line.utf8).withUnsafeBytes { RecordedOutcome(try parser.parse($0), sequence: 1) }
    }

    @Test func `each outcome is final, and its explanation has a code of its own`() throws {
        let outcomes = try OutcomeCode.allCases.map { try outcome($0.rawValue) }
        #expect(outcomes.allSatisfy { $0.isFinal && !$0.explanation.text.isEmpty })
        #expect(Set(outcomes.map(\.explanation.code)).count == OutcomeCode.allCases.count)
    }

    @Test func `an explanation distinguishes a device that was unregistered from a token that is invalid`() throws {
        #expect(try outcome("unregistered").explanation.code == .transportUnregistered)
        #expect(try outcome("unregistered", #","answer":"none""#).explanation.code == .deviceUnregistered)
        for attempts in [#""attempts":0"#, #""attempts":2,"tries":0"#] {
            let withdrawn = try outcome("unregistered", #","reason":"the device was unregistered",\#(attempts)"#)
            #expect(withdrawn.explanation.code == .deviceUnregistered)
        }
        for answered in [#""attempts":1"#, #""attempts":0,"since":"2026-01-01T00:00:00Z""#] {
            #expect(try outcome("unregistered", ",\(answered)").explanation.code == .transportUnregistered)
        }
    }

    @Test func `an explanation says that the device may have got the push twice`() throws {
        let repeated = try outcome("accepted", #","repeat_possible":true"#).explanation
        let accepted = "transport apns accepted the push to mac"
        #expect(repeated.text == accepted + "; the device may have got it twice (repeat_possible)")
        #expect(repeated.detail("repeat_possible") == "true")
        #expect(try outcome("accepted").explanation.text == accepted)
    }

    @Test func `an attempt has an explanation and is not final`() throws {
        let deferred = try outcome("deferred", #","status":503,"reason":"Shutdown","until":"2026-01-01T00:00:00Z""#)
        #expect(deferred.explanation.code == .pushWaiting && !deferred.isFinal)
        #expect(
            deferred.explanation.text
                == "the push to mac was deferred until 2026-01-01T00:00:00Z: 503 Shutdown (after a 5xx, apns waits "
                + "about as long as its setting retryAfter5xx says; longer after further 5xx, or if APNs asks for it)")
        let busy = try outcome("deferred", #","status":429,"reason":"TooManyRequests","until":"2026-01-01T00:00:00Z""#)
        #expect(
            busy.explanation.text == "the push to mac was deferred until 2026-01-01T00:00:00Z: 429 TooManyRequests")
        #expect(try outcome("deferred").explanation.text == "the push to mac was deferred")
        #expect(deferred.explanation.details.map(\.name).contains("until"))
        let held = try outcome("held")
        #expect(held.explanation.code == .appStopped && !held.isFinal)
    }
}
