import JSON
import Testing

@testable import Coalesce

/// Feeds a timeline of matches to the stage. One character is 10 ms; `window` and `maximumDelay` count characters. A
/// letter is a match whose collapse ID is the letter, and `-` is a time without a match.
///
/// In the result, `line` is a timeline in which a letter is a notification that leaves, `causes` has the changes of
/// each notification, and `coalesced` is the number of replaced notifications. Changes are numbered in the order of
/// arrival.
private func timeline(
    _ arrivals: String, policy: String = "debounce", window: Int = 3, maximumDelay: Int = 30
) throws -> (line: String, causes: [[Int]], coalesced: Int) {
    var events: [Arrival] = []
    for (position, letter) in arrivals.enumerated() where letter != "-" {
        let match = SampleMatch.collapsing(String(letter), change: events.count + 1)
        events.append(Arrival(time: Int64(position * 10), line: match.line))
    }
    let output = try outputs(
        of: events, policy: policy, window: .milliseconds(window * 10), maximumDelay: .milliseconds(maximumDelay * 10))
    var line: [Character] = []
    var causes: [[Int]] = []
    for (text, time) in zip(output.lines, output.times) where text.contains(#""type":"notification""#) {
        let json = try OutputLine(text)
        while line.count < Int(time / 10) { line.append("-") }
        line += json.collapseID
        causes.append(json.causes)
    }
    return (String(line), causes, output.lines.count { $0.contains(#""type":"coalesced""#) })
}

@Suite struct `The policy latest` {
    @Test func `releases the first notification at once`() throws {
        let seen = try timeline("-a-----", policy: "latest")
        #expect(seen.line == "-a")
        #expect(seen.causes == [[1]])
    }

    @Test func `releases the newest notification at the end of each window`() throws {
        let seen = try timeline("aaa-a-a------", policy: "latest")
        #expect(seen.line == "a--a--a--a")
        #expect(seen.causes == [[1], [2, 3], [4], [5]])
        #expect(seen.coalesced == 1)
    }

    @Test func `releases at once a notification that comes at the end of the window`() throws {
        let seen = try timeline("a--a---a-a-", policy: "latest")
        #expect(seen.line == "a--a---a--a")
        #expect(seen.causes == [[1], [2], [3], [4]])
    }

    @Test func `releases a notification in each window while newer notifications keep coming`() throws {
        let seen = try timeline("aaaaaaaaaaaa", policy: "latest", maximumDelay: 3)
        #expect(seen.line == "a--a--a--a--a")
        #expect(seen.causes == [[1], [2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]])
    }

    @Test func `has a separate window for each collapse ID`() throws {
        let seen = try timeline("abab------", policy: "latest")
        #expect(seen.line == "ab-ab")
        #expect(seen.causes == [[1], [2], [3], [4]])
    }

    @Test func `holds nothing if the window is zero`() throws {
        let seen = try timeline("aaa", policy: "latest", window: 0)
        #expect(seen.line == "aaa")
        #expect(seen.causes == [[1], [2], [3]])
    }

    @Test func `reports a deletion that follows a creation in one window`() throws {
        var matches = (1...3).map { SampleMatch.collapsing("a", change: $0) }
        matches[2].reason = "delete"
        let output = try outputs(of: matches.map { Arrival(time: 0, line: $0.line) }, policy: "latest")
        #expect(output.lines.first == matches[0].notification(causes: [1]))
        #expect(output.lines.last == matches[2].notification(causes: [2, 3]))
        #expect(output.times == [0, 0, 100])
    }

    @Test func `keeps the origin of a single match, and drops the origin of matches from different devices`() throws {
        var matches = (1...3).map { SampleMatch.collapsing("a", change: $0) }
        matches[2].device = "alice-phone"
        let output = try outputs(of: matches.map { Arrival(time: 0, line: $0.line) }, policy: "latest")
        #expect(output.lines.first == matches[0].notification(causes: [1]))
        #expect(output.lines.last == matches[2].notification(causes: [2, 3], withOrigin: false))
    }
}

@Suite struct `The policy none` {
    @Test func `releases each notification at once, and replaces no notification`() throws {
        let seen = try timeline("aab-a", policy: "none")
        #expect(seen.line == "aab-a")
        #expect(seen.causes == [[1], [2], [3], [4]])
        #expect(seen.coalesced == 0)
    }
}

/// These tests use the policy `debounce`.
@Suite struct `Held notifications` {
    @Test func `leave after one window`() throws {
        let seen = try timeline("-a-----")
        #expect(seen.line == "----a")
        #expect(seen.causes == [[1]])
    }

    @Test func `are replaced by a newer notification, which restarts the window`() throws {
        let seen = try timeline("a-a--------")
        #expect(seen.line == "-----a")
        #expect(seen.causes == [[1, 2]])
        #expect(seen.coalesced == 1)
    }

    @Test func `leave before a match that arrives at their deadline`() throws {
        let seen = try timeline("a--a")
        #expect(seen.line == "---a--a")
        #expect(seen.causes == [[1], [2]])
        #expect(seen.coalesced == 0)
    }

    @Test func `are held for the maximum delay at most`() throws {
        let seen = try timeline("a-a-a-a-a-a-a", maximumDelay: 7)
        #expect(seen.line == "-------a-------a")
        #expect(seen.causes == [[1, 2, 3, 4], [5, 6, 7]])
        #expect(seen.coalesced == 5)
    }

    @Test func `do not affect another collapse ID`() throws {
        let seen = try timeline("aba--")
        #expect(seen.line == "----ba")
        #expect(seen.causes == [[2], [1, 3]])
    }

    @Test func `leave in the order of their first matches if they are due at the same time`() throws {
        let matches = ["b", "a", "c"].enumerated().map { SampleMatch.collapsing($1, change: $0 + 1) }
        let again = SampleMatch.collapsing("b", change: 4)
        let output = try outputs(of: (matches + [again]).map { Arrival(time: 0, line: $0.line) })
        #expect(
            output.lines.dropFirst() == [
                again.notification(causes: [1, 4]), matches[1].notification(causes: [2]),
                matches[2].notification(causes: [3]),
            ])
        #expect(output.times == [0, 100, 100, 100])
    }

    @Test func `lead to a coalesced event at once when they are replaced`() throws {
        var other = SampleMatch.collapsing("a", change: 17)
        other.subscription = "other"
        let matches = [SampleMatch.collapsing("a", change: 15), other]
        let output = try outputs(of: matches.enumerated().map { Arrival(time: Int64($0 * 20), line: $1.line) })
        #expect(
            output.lines == [
                #"{"type":"coalesced","match":1,"change":15,"replacedBy":2,"replacedByChange":17,"user":"_alice","#
                    + #""subscriptionID":"feed"}"#,
                other.notification(causes: [15, 17]),
            ])
        #expect(output.times == [20, 120])
    }

    @Test func `report a deletion that follows a creation`() throws {
        var deletion = SampleMatch.collapsing("a", change: 2)
        deletion.reason = "delete"
        let output = try lines(of: [.collapsing("a"), deletion])
        #expect(output.last == deletion.notification(causes: [1, 2]))
    }

    @Test func `list a change once if two subscriptions matched it`() throws {
        var other = SampleMatch.collapsing("a", change: 5)
        other.subscription = "other"
        #expect(try lines(of: [.collapsing("a", change: 5), other]).last == other.notification(causes: [5]))
    }

    @Test func `leave at once when they reach the limit of changes`() throws {
        let count = HeldNotification.causesMax
        let output = try lines(of: (1...count + 1).map { .collapsing("a", change: $0) })
        let notifications = output.filter { $0.contains(#""type":"notification""#) }
        #expect(try notifications.map { try OutputLine($0).causes.count } == [count, 1])
        #expect(output.count == count + 1)
    }
}

@Suite struct `Replacement` {
    @Test func `silent matches of one subscription replace each other`() throws {
        for info in [
            nil, "null", "{}", #"{"shouldSendContentAvailable":true}"#, #"{"shouldBadge":false,"title":""}"#,
            #"{"shouldSendContentAvailable":true,"desiredKeys":["a"]}"#,
        ] {
            let matches = [SampleMatch(change: 1, info: info), SampleMatch(change: 2, info: info)]
            #expect(try lines(of: matches).last == matches[1].notification(causes: [1, 2]), "\(info ?? "none")")
        }
    }

    @Test(arguments: [
        #"{"alertBody":"Hi"}"#, #"{"shouldBadge":true}"#, #"{"shouldSendMutableContent":true}"#,
    ])
    func `a visible match without a collapse ID replaces nothing and passes at once`(info: String) throws {
        let matches = [SampleMatch(change: 1, info: info), SampleMatch(change: 2, info: info)]
        let output = try outputs(of: matches.map { Arrival(time: 7, line: $0.line) })
        #expect(output.lines == [matches[0].notification(causes: [1]), matches[1].notification(causes: [2])])
        #expect(output.times == [7, 7])
    }

    @Test(arguments: [\SampleMatch.user, \.container, \.environment, \.database, \.subscription])
    func `silent matches of different users, containers, environments, databases or subscriptions stay apart`(
        member: WritableKeyPath<SampleMatch, String> & Sendable
    ) throws {
        var other = SampleMatch(change: 2)
        other[keyPath: member] = "other"
        #expect(try lines(of: [SampleMatch(), other]).count == 2)
        #expect(try !lines(of: [SampleMatch(), other]).contains { $0.contains("coalesced") })
    }

    @Test func `a collapse ID covers all databases and subscriptions of a user`() throws {
        var other = SampleMatch.collapsing("a", change: 2)
        (other.database, other.subscription) = ("public", "other")
        #expect(try lines(of: [.collapsing("a"), other]).last == other.notification(causes: [1, 2]))
    }

    @Test func `a collapse ID is equal to the same ID written with JSON escapes`() throws {
        let escaped = SampleMatch.collapsing(#"\u0061"#, change: 2)
        #expect(try lines(of: [.collapsing("a"), escaped]).last == escaped.notification(causes: [1, 2]))
    }

    @Test func `nothing is replaced if the window is zero`() throws {
        let matches = [SampleMatch.collapsing("a"), .collapsing("a", change: 2), SampleMatch(change: 3)]
        let output = try outputs(of: matches.map { Arrival(time: 0, line: $0.line) }, window: .zero)
        #expect(output.lines == matches.map { $0.notification(causes: [$0.change]) })
    }
}

@Suite struct `An origin` {
    @Test func `is kept if all changes have the same origin`() throws {
        let matches = [SampleMatch.collapsing("a"), .collapsing("a", change: 2)]
        #expect(try lines(of: matches).last == matches[1].notification(causes: [1, 2]))
    }

    @Test(arguments: [[nil, "mac"], ["mac", nil], ["mac", "phone"], ["mac", "phone", "mac"]] as [[String?]])
    func `is dropped if the origins of two changes differ`(devices: [String?]) throws {
        let matches = devices.enumerated().map { index, device in
            var match = SampleMatch.collapsing("a", change: index + 1)
            match.device = device
            return match
        }
        let causes = Array(1...devices.count)
        #expect(try lines(of: matches).last == matches.last?.notification(causes: causes, withOrigin: false))
    }
}

@Suite struct `Other events` {
    @Test func `pass unchanged and at once`() throws {
        let events = [#"{"type":"device.register","user":"_alice"}"#, #"{"type":"new.word","n":1.50}"#, #"{"a":1}"#]
        let output = try outputs(of: events.map { Arrival(time: 7, line: $0) })
        #expect(output.lines == events)
        #expect(output.times == [7, 7, 7])
    }

    @Test func `of type not_matched are not passed on`() throws {
        let event = #"{"type":"not_matched","first":1,"last":1000,"count":752}"#
        #expect(try outputs(of: [Arrival(time: 0, line: event)]) == StageOutput())
    }

    @Test(arguments: [
        (#""change":1"#, #""change":0"#), (#""change":1"#, #""change":"1""#), (#""user":"_alice","sub"#, #""sub"#),
        (#""subscriptionID":"feed""#, #""subscriptionID":7"#),
        (#""collapseIDKey":"a""#, #""collapseIDKey":{"a":1}"#), (#""database":"private""#, #""database":null"#),
    ])
    func `that are invalid matches become dead letters`(part: String, broken: String) throws {
        let line = SampleMatch.collapsing("a").line
        #expect(line.contains(part))
        let output = try outputs(of: [Arrival(time: 0, line: line.replacing(part, with: broken, maxReplacements: 1))])
        #expect(output.lines.isEmpty)
        #expect(output.rejections.count == 1)
    }
}

private func lines(of matches: [SampleMatch]) throws -> [String] {
    try outputs(of: matches.map { Arrival(time: 0, line: $0.line) }).lines
}

@Suite struct `The order of members` {
    /// Moves `type` from the first to the last place of each event. A plugin before coalesce may write members in any
    /// order, for example by `json.dumps(event, sort_keys=True)`.
    @Test(arguments: ["latest", "debounce", "none"]) func `does not matter`(policy: String) throws {
        let letters = Array("abaacab")
        let arrivals = letters.indices.map { index in
            Arrival(
                time: Int64(index * 40), line: SampleMatch.collapsing(String(letters[index]), change: index + 1).line)
        }
        let type = #""type":"match""#
        let moved = try arrivals.map { arrival in
            let rest = try #require(arrival.line.wholeMatch(of: /\{"type":"match",(.*)\}/)).1
            return Arrival(time: arrival.time, line: "{\(rest),\(type)}")
        }
        let expected = try outputs(of: arrivals, policy: policy)
        #expect(try outputs(of: moved, policy: policy) == expected)
        #expect(expected.lines.count >= letters.count && expected.rejections.isEmpty)
    }
}
