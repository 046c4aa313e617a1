import Foundation
import JSON
import TestSupport
import Testing

@testable import Payload

@Suite struct `Any notification` {
    @Test(arguments: UInt64(1)...400)
    func `gives a valid payload of at most 4,096 bytes that says whether anything is missing`(seed: UInt64) throws {
        var random = Seeded(seed)
        let drawn = DrawnNotification(using: &random)
        let line = try #require(try outputs(of: [drawn.notification.line]).lines.first, "seed \(seed)")
        let text = try payloadText(of: line)
        #expect(try JSONSerialization.jsonObject(with: Data(text.utf8)) is [String: Any], "seed \(seed)")
        #expect(text.utf8.count <= 4096, "seed \(seed)")
        let push = try Tree(line)
        let payload = try #require(push["payload"])
        let (missing, wrong) = drawn.difference(from: payload)
        #expect(wrong.isEmpty, "seed \(seed)")
        #expect(
            payload["ck"]?.keys.contains("p") == (!missing.isEmpty || !drawn.unfit.isEmpty), "seed \(seed): \(missing)")
        #expect(missing.isDisjoint(with: drawn.identifying), "seed \(seed)")
        try checkHeaders(push, seed)
        try checkUnpruned(push, drawn, isPruned: !missing.isEmpty, seed)
    }

    private func checkHeaders(_ push: Tree, _ seed: UInt64) throws {
        let shown = try #require(push["payload", "aps"]).keys.subtracting(["content-available"])
        let type = push["headers", "apns-push-type"]
        #expect(type == .text(shown.isEmpty ? "background" : "alert"), "seed \(seed)")
        #expect(push["headers", "apns-priority"] == .text(shown.isEmpty ? "5" : "10"), "seed \(seed)")
        if shown.isEmpty { #expect(push["payload", "aps", "content-available"] == .number("1"), "seed \(seed)") }
    }

    private func checkUnpruned(_ push: Tree, _ drawn: DrawnNotification, isPruned: Bool, _ seed: UInt64) throws {
        guard isPruned else { return #expect(push["unpruned"] == nil, "seed \(seed)") }
        let unpruned = try #require(push["unpruned"], "seed \(seed)")
        let (missing, wrong) = drawn.difference(from: unpruned)
        #expect(missing.isEmpty && wrong.isEmpty, "seed \(seed)")
        #expect(unpruned["ck"]?.keys.contains("p") == !drawn.unfit.isEmpty, "seed \(seed)")
    }

    @Test(arguments: UInt64(1)...40)
    func `gives the same bytes whatever the batches are`(seed: UInt64) throws {
        var random = Seeded(seed)
        let lines = (0..<30).map { _ in DrawnNotification(using: &random).notification.line }
        let cuts = Set(lines.indices.filter { _ in Bool.random(using: &random) })
        #expect(try outputs(of: lines) == outputs(of: lines, cuts: cuts), "seed \(seed)")
    }

    @Test(arguments: ["title", "desiredKeys", "subscriptionID"])
    func `with half a surrogate pair is invalid JSON and does not reach the stage`(place: String) {
        let half = #"\ud83d"#
        let info = place == "title" ? #"{"title":"\#(half)"}"# : #"{"desiredKeys":["\#(half)"]}"#
        let whole = SampleNotification(info: place == "subscriptionID" ? nil : info).line
        let line = place == "subscriptionID" ? whole.replacing("my-notes", with: half) : whole
        #expect(line.contains(half))
        #expect(throws: JSONError.self) { try outputs(of: [line]) }
    }

    @Test func `whose payload lacks the identifiers fails the checks of this suite`() throws {
        var random = Seeded(3)
        let drawn = DrawnNotification(using: &random)
        let payload = Tree.object(["aps": .object([:]), "ck": .object([:])])
        #expect(drawn.difference(from: payload).missing.isSuperset(of: drawn.identifying))
    }
}
