import BelfryTestKit
import PipelineTestKit
import Testing

/// Tests subscriptions that are sent to the door of a pipeline: the answers, the errors and the limits.
@Suite struct SubscriptionDoor {
    private static let yaml = """
        pipeline: subscriptions
        stages:
          ingest: {}
          match: {from: ingest}
          coalesce: {from: match, window: 0s}
          payload: {from: coalesce}
          deliver: {from: payload, transports: {apns: {use: console}}}
        """

    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#
    private static let phone =
        #"{"type":"device.register",\#(place),"user":"_a","device":"phone","transport":"apns","token":"1","topic":"notes"}"#

    private static func subscribe(_ id: String, _ query: String) -> String {
        #"{"type":"subscription.save",\#(place),"database":"public","user":"_a","subscription":{"subscriptionID":"\#(id)","#
            + #""subscriptionType":"query","query":{"recordType":"Note",\#(query)},"firesOn":["create"],"#
            + #""notificationInfo":{"alertBody":"\#(id)"}}}"#
    }

    private static func predicate(id: String = "s", _ text: String) -> String {
        subscribe(id, #""predicate":"\#(text)""#)
    }

    private static func filters(_ filters: String...) -> String { Self.filters(all: filters) }

    private static func filters(all filters: [String]) -> String {
        subscribe("s", #""filterBy":[\#(filters.joined(separator: ","))]"#)
    }

    private static func note(_ name: String, _ stars: Int) -> String {
        #"{"type":"record.save",\#(place),"database":"public","record":{"recordName":"\#(name)","recordType":"Note","#
            + #""fields":{"stars":{"value":\#(stars),"type":"INT64"}}}}"#
    }

    @Test func `a subscription is active from the sequence in its answer`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        let many = (0..<300).map { Self.note("early-\($0)", 5) }
        let admission = try await belfry.send(
            [Self.phone] + many + [Self.predicate(id: "feed", "stars > 3"), "{}", Self.note("late", 5)]
                + [Self.predicate(id: "never", "stars > 3 AND stars < 2"), Self.note("later", 5)])
        #expect(admission.accepted == 305)
        #expect(admission.refusals.map(\.line) == [303])
        #expect(admission.saved.map(\.line) == [302, 305])
        #expect(admission.saved.map(\.subscription.subscriptionID) == ["feed", "never"])
        #expect(admission.saved.map { $0.subscription.warnings.map(\.code) } == [[], ["predicate.never"]])
        try await belfry.settle()
        let changes = try belfry.events(of: "ingest")
        for saved in admission.saved {
            #expect(changes[Int(saved.activeFrom) - 1].contains(saved.subscription.subscriptionID))
        }
        let watched = try belfry.events(of: "match").filter { $0.contains(#""type":"match""#) }
        let numbers = watched.map { $0.split(separator: #""change":"#)[1].prefix { $0 != "," } }
        #expect(numbers == ["303", "305"])
        #expect(admission.saved.map(\.activeFrom) == [302, 304])
        try await belfry.stop()
    }

    @Test func `the answer to a moved subscription has the sequence of the event that saves it`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        let save = Self.subscribe("feed", #""predicate":"TRUEPREDICATE""#)
        let admission = try await belfry.send(save.replacing("public", with: "private"), save, Self.note("n", 1))
        #expect(admission.accepted == 3)
        #expect(admission.saved.map(\.activeFrom) == [1, 3])
        #expect(admission.saved.map { $0.subscription.warnings.map(\.code) } == [[], ["subscription.moved"]])
        try await belfry.settle()
        #expect(try belfry.events(of: "ingest").count == 4)
        try await belfry.stop()
    }

    @Test func `the answers have an entry for each of many subscriptions`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        let never = "a > 3 AND a < 2 AND b > 3 AND b < 2"
        let admission = try await belfry.send((0..<3_000).map { Self.predicate(id: "s\($0)", never) })
        #expect(admission.saved.map(\.activeFrom) == Array(1...3_000))
        // One answer is about many subscriptions, and lists at most 1,000 warnings.
        #expect(admission.saved.prefix(100).allSatisfy { $0.subscription.warnings.count == 2 })
        try await belfry.stop()
    }

    // MARK: Bad input

    private static let near =
        #"{"comparator":"NEAR","fieldName":"p","fieldValue":{"value":{"latitude":1,"longitude":2}}}"#
    private static let equals = #"{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":1,"type":"INT64"}}"#

    private static let refused: [(line: String, code: String, path: String)] = [
        (predicate("a == '" + String(repeating: "x", count: 100 << 10) + "'"), "predicate.limit", "predicate"),
        (predicate(String(repeating: "(", count: 5_000) + "a == 1"), "predicate.limit", "predicate"),
        (predicate(String(repeating: "NOT (", count: 5_000) + "a == 1"), "predicate.limit", "predicate"),
        (
            predicate((0...10_000).map { "a!=\($0 % 9)" }.joined(separator: "&&")), "predicate.limit", "predicate"
        ),
        (filters(all: Array(repeating: equals, count: 10_001)), "predicate.limit", "filterBy"),
        (
            subscribe(
                "s",
                #""filterBy":\#(String(repeating: "[", count: 5_000))\#(String(repeating: "]", count: 5_000))"#),
            "json.too_deep", ""
        ),
        (filters(near), "predicate.missing", "filterBy[0].distance"),
        (filters(equals, near), "predicate.missing", "filterBy[1].distance"),
        (
            filters(near.replacing(#"{"latitude":1,"longitude":2}"#, with: #""here""#).adding(#","distance":5"#)),
            "predicate.type", "filterBy[0].fieldValue.value"
        ),
        (filters(equals.replacing(":1,", with: #":"1","#)), "predicate.type", "filterBy[0].fieldValue.value"),
        (filters(equals.replacing("EQUALS", with: "IN")), "predicate.type", "filterBy[0].fieldValue.value"),
        (filters(equals.replacing("EQUALS", with: "EQUAL")), "predicate.unsupported", "filterBy[0].comparator"),
        (filters(equals.adding(#","caseSensitive":true"#)), "predicate.unknown_key", "filterBy[0].caseSensitive"),
        (filters("7"), "predicate.type", "filterBy[0]"),
        (subscribe("s", #""filter":[]"#), "member.unknown", "filter"),
        (subscribe("s", #""filterBy":{}"#), "member.kind", "filterBy"),
        (subscribe("s", #""filterBy":[],"predicate":"a == 1""#), "member.conflict", "predicate"),
        (subscribe("s", #""arguments":[1]"#), "member.conflict", "arguments"),
        (subscribe("s", #""predicate":"a == %@","arguments":[]"#), "predicate.arguments", "predicate"),
    ]

    @Test(.timeLimit(.minutes(5)))
    func `invalid subscriptions are rejected with code and path, and later subscriptions are accepted`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        let admission = try await belfry.send(Self.refused.map(\.line) + [Self.predicate(id: "feed", "stars > 3")])
        #expect(admission.accepted == 1)
        try #require(admission.refusals.count == Self.refused.count)
        for (refusal, expected) in zip(admission.refusals, Self.refused) {
            #expect(refusal.code == expected.code, "\(refusal)")
            let path = expected.path.isEmpty ? "" : "subscription.query.\(expected.path)"
            #expect(refusal.path == path, "\(refusal)")
            #expect(refusal.reason.utf8.count < 2_000)
        }
        try await belfry.stop()
    }

    @Test(.timeLimit(.minutes(5))) func `large subscriptions within the limits are accepted and used`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        let text = "stars > 3 AND title != '" + String(repeating: "x", count: (100 << 10) - 25) + "'"
        let different = #"{"comparator":"NOT_EQUALS","fieldName":"stars","fieldValue":{"value":%}}"#
        let large = [
            Self.predicate(id: "text", text),
            Self.predicate(id: "clauses", (0..<10_000).map { "stars!=\($0 % 5)" }.joined(separator: "&&")),
            Self.filters(all: (0..<10_000).map { different.replacing("%", with: "\(100 + $0 % 9)") })
                .replacing(#""s""#, with: #""filters""#),
            Self.predicate(
                id: "deep", String(repeating: "(", count: 128) + "stars > 3" + String(repeating: ")", count: 128)),
            Self.predicate(id: "list", "stars IN {" + (0..<1_000).map { "\($0)" }.joined(separator: ",") + "}"),
        ]
        let admission = try await belfry.send([Self.phone] + large + [Self.note("n", 5)])
        #expect(admission.refusals == [])
        try await belfry.settle()
        let alerts = belfry.pushes.compactMap { $0.firstMatch(of: /"alert":"([a-z]+)"/).map { String($0.1) } }
        // The note has no title, so the subscription "text" does not match.
        #expect(alerts == ["clauses", "filters", "deep", "list"])
        try await belfry.stop()
    }
}

extension String {
    fileprivate func adding(_ members: String) -> String { dropLast() + members + "}" }
}
