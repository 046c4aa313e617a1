import Testing

@testable import Payload

@Suite struct `A badge` {
    private static let info = #"{"shouldBadge":true}"#

    private static func set(_ badge: String, topic: String? = nil, user: String = "_a") -> String {
        let topic = topic.map { #","topic":\#(quoted($0))"# } ?? ""
        return #"{"type":"badge.set","container":"i","environment":"production","user":"\#(user)"\#(topic),"#
            + #""badge":\#(badge)}"#
    }

    private static func notification(_ user: String = "_a", info: String = info) -> String {
        SampleNotification(container: "i", environment: "production", user: user, info: info).line
    }

    /// The badges of each push: first the badge of the payload, then the badges of the topics in order, each after the
    /// topic's name. A payload without a badge gives `none`.
    private static func badges(_ events: [String]) throws -> [[String]] {
        try outputs(of: events).lines.map { line in
            let push = try Tree(line)
            let topics = push["payloadByTopic"]?.keys.sorted() ?? []
            let payloads = [push["payload"]] + topics.map { push["payloadByTopic"]?[$0] }
            return zip([""] + topics, payloads).map { topic, payload in
                guard case .number(let badge)? = payload?["aps", "badge"] else { return "none" }
                return topic + badge
            }
        }
    }

    @Test func `is separate for each user, container and environment`() throws {
        let info = Self.info
        let alice = SampleNotification(info: info)
        let others = [
            SampleNotification(user: "_bob", info: info), SampleNotification(container: "iCloud.other", info: info),
            SampleNotification(environment: "production", info: info),
        ]
        let quiet = SampleNotification(info: #"{"alertBody":"Hi"}"#)
        let badges = try Self.badges(([alice, quiet] + others + [alice, others[0]]).map(\.line))
        #expect(badges == [["1"], ["none"], ["1"], ["1"], ["1"], ["2"], ["2"]])
    }

    @Test func `continues from the number that it was set to, also from zero`() throws {
        let badges = try Self.badges([
            Self.notification(), Self.set("0"), Self.notification(), Self.set("40"), Self.set("7", user: "_b"),
            Self.notification(), Self.notification("_b"),
        ])
        #expect(badges == [["1"], ["1"], ["41"], ["8"]])
    }

    @Test func `at its maximum does not grow`() throws {
        let badges = try Self.badges([
            Self.set("2147483646"), Self.set("2147483647", topic: "a"), Self.notification(), Self.notification(),
        ])
        #expect(badges == [["2147483647", "a2147483647"], ["2147483647", "a2147483647"]])
    }

    @Test func `is one number for all topics that have no number of their own`() throws {
        let badges = try Self.badges([
            Self.notification(), Self.set("0", topic: "b"), Self.notification(), Self.set("10", topic: "a"),
            Self.notification(), Self.notification("_b"), Self.set("5"), Self.notification(),
        ])
        #expect(badges == [["1"], ["2", "b1"], ["3", "a11", "b2"], ["1"], ["6"]])
    }

    @Test func `of a topic follows the common number again after it is set to the same value`() throws {
        let badges = try Self.badges([
            Self.set("3", topic: "a"), Self.notification(), Self.set("1", topic: "a"), Self.notification(),
        ])
        #expect(badges == [["1", "a4"], ["2"]])
    }

    @Test func `is set without an event in the log of pushes`() throws {
        #expect(try outputs(of: [Self.set("3"), Self.set("4", topic: "a")]) == StageOutput())
    }

    @Test(arguments: [
        ("-1", "badge.range badge"), ("1.5", "badge.range badge"), ("2147483648", "badge.range badge"),
        ("\"1\"", "notification.kind badge"),
    ])
    func `must be a whole number in range`(badge: String, rejection: String) throws {
        #expect(try outputs(of: [Self.set(badge)]) == StageOutput(rejections: [rejection]))
    }

    @Test func `has at most sixteen topics with numbers of their own`() throws {
        let settings = (1...17).map { Self.set("9", topic: "t\($0)") }
        #expect(try outputs(of: settings) == StageOutput(rejections: ["badge.topics topic"]))
        let badges = try Self.badges(settings + [Self.set("8", topic: "t1"), Self.notification()])
        #expect(badges.first?.count == 17)
    }

    @Test
    func `of a topic is the only difference between the topic's and the common payload if both omit the same parts`()
        throws
    {
        let body = String(repeating: "b", count: 3_000)
        let record = String(repeating: "r", count: 1_000)
        for length in 0..<12 {
            var sample = SampleNotification(container: "i", environment: "production", user: "_a", record: record)
            sample.info = #"{"alertBody":"\#(body + String(repeating: "b", count: length * 11))","shouldBadge":true}"#
            let lines = try outputs(of: [Self.set("1000000000", topic: "a"), sample.line]).lines
            let push = try Tree(try #require(lines.first))
            let (all, one) = (push["payload"], push["payloadByTopic"]?["a"])
            #expect(all?["ck"] == one?["ck"] && all?["aps"]?.keys == one?["aps"]?.keys)
            #expect(all?["aps", "alert"] == one?["aps", "alert"])
            #expect(one?["aps", "badge"] == .number("1000000001"))
        }
    }
}
