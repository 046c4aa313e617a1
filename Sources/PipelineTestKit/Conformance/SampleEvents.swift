import Events
import JSON
import PipelineKit
import PipelineRuntime
import Replay
import Time

/// An event with its time.
struct SampleEvent: Hashable, Sendable {
    var time: Instant
    var line: String
}

/// The events for conformance checks.
enum SampleEvents {
    /// Events from all logs of a pipeline, made by Belfry's stages, in the order of their times. Rare types, such as
    /// `zone.delete` and `app.stopped`, are missing.
    ///
    /// - Parameter registry: Belfry's stages.
    static func logged(_ registry: Registry) throws -> [SampleEvent] {
        let chain = try Chain(
            try PipelineFile.parse(yaml, file: "the sample pipeline", registry: registry), registry: registry,
            seed: "conformance")
        for command in commandLines { try chain.send(command) }
        try chain.finish()
        let events = chain.logs.flatMap(chain.events(of:)).map { SampleEvent(time: $0.now, line: $0.text) }
        return events.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    }

    static func commands() -> [SampleEvent] { given(commandLines) }

    /// Events from the caller. Each comes a tenth of a second after the event before it, or at its own `time` if that
    /// is later.
    static func given(_ lines: [String]) -> [SampleEvent] {
        var (time, events) = (Instant.testStart, [SampleEvent]())
        for line in lines {
            let own = member(.time, of: line).flatMap { Instant(rfc3339: $0) }
            time = max(time.advanced(by: .milliseconds(100)), own ?? .epoch)
            events.append(SampleEvent(time: time, line: line))
        }
        return events
    }

    /// The value of a string member; nil if the line has no such member.
    static func member(_ name: StaticString, of line: String) -> String? { line.withJSON { $0.text(name) } ?? nil }

    /// Events of a type that no stage knows, and events without a valid type.
    static let unknown = [
        #"{"type":"conformance.unknown"}"#,
        #"{"type":"conformance.unknown","text":"ä \" \\ \u2028 \ud83d\udd14","numbers":[0,-1,1.5e300],"nested":{"a":{"b":[{}]}}}"#,
        #"{"type":7}"#,
        #"{"no":"type"}"#,
        "{}",
    ]

    /// An event in which one member is missing or has another value.
    struct OddEvent {
        /// The defect, such as `match with "user":null`.
        var name: String
        var line: String
    }

    /// Variants of the first event of each type. In each variant one member is missing, or has another value, mostly of
    /// a wrong type.
    static func odd(_ events: [SampleEvent]) -> [OddEvent] {
        var types: Set<String> = []
        return events.filter { types.insert(member(.type, of: $0.line) ?? "").inserted }.flatMap { odd($0.line) }
    }

    private static let oddValues = ["null", "true", "-7", "1e300", #""""#, #""odd""#, "[]", "[[1]]", "{}"]

    private static func odd(_ line: String) -> [OddEvent] {
        let type = member(.type, of: line) ?? "typeless event"
        let members = members(of: line)
        return members.indices.flatMap { place -> [OddEvent] in
            let key = members[place].key
            let without = members.indices.filter { $0 != place }.map { members[$0] }
            let changed = oddValues.map { other in
                var changed = members
                changed[place].value = other
                return OddEvent(name: "\(type) with \(key):\(other)", line: object(changed))
            }
            return [OddEvent(name: "\(type) without \(key)", line: object(without))] + changed
        }
    }

    /// The members of an event, as JSON texts.
    private static func members(of line: String) -> [(key: String, value: String)] {
        line.withJSON { event in
            event.members.map {
                (key: String(decoding: $0.key.raw, as: UTF8.self), value: String(decoding: $0.value.raw, as: UTF8.self))
            }
        } ?? []
    }

    private static func object(_ members: [(key: String, value: String)]) -> String {
        "{" + members.map { "\($0.key):\($0.value)" }.joined(separator: ",") + "}"
    }

    private static let yaml = """
        pipeline: conformance
        data: /
        stages:
          ingest: {}
          match: {from: ingest}
          coalesce: {from: match, window: 1s, maximumDelay: 5s}
          payload: {from: coalesce}
          deliver: {from: payload, transports: {apns: {use: console}}}
        """

    private static let commandLines: [String] = {
        let place = #""container":"iCloud.com.example.Notes","environment":"development""#
        let zone = #""zoneID":{"zoneName":"Notes","ownerRecordName":"_alice"}"#
        func device(_ name: String, _ token: String, _ time: String = "") -> String {
            #"{"type":"device.register",\#(time)\#(place),"\#(Member.user)":"_alice","device":"\#(name)","transport":"apns","token":"\#(token)","topic":"com.example.Notes"}"#
        }
        func subscription(_ text: String) -> String {
            #"{"type":"subscription.save",\#(place),"database":"private","\#(Member.user)":"_alice","subscription":\#(text)}"#
        }
        func change(_ name: String, second: Int, stars: Int, type: String = "Note") -> String {
            #"{"type":"record.save","time":"2026-01-01T00:00:\#(10 + second)Z",\#(place),"database":"private","owner":"_alice","#
                + #""origin":{"\#(Member.user)":"_alice","device":"mac"},"record":{"recordName":"\#(name)","recordType":"\#(type)",\#(zone),"#
                + #""fields":{"title":{"value":"Hello","type":"STRING"},"stars":{"value":\#(stars),"type":"INT64"}}}}"#
        }
        let info =
            #""notificationInfo":{"alertBody":"A note","collapseIDKey":"notes","shouldBadge":true,"desiredKeys":["title"]}"#
        return [
            device("phone", "6a0f", #""time":"2026-01-01T00:00:00Z","#), device("mac", "77b1"), device("old", "8c20"),
            #"{"type":"device.unregister",\#(place),"\#(Member.user)":"_alice","device":"old"}"#,
            subscription(
                #"{"\#(Member.subscriptionID)":"good","subscriptionType":"query","query":{"recordType":"Note","predicate":"stars > 3"},"zoneWide":true,"firesOn":["create","update"],\#(info)}"#
            ),
            subscription(
                #"{"\#(Member.subscriptionID)":"zone","subscriptionType":"zone","zoneID":{"zoneName":"Notes"},"notificationInfo":{"alertBody":"A change"}}"#
            ),
            subscription(#"{"\#(Member.subscriptionID)":"all","subscriptionType":"database"}"#),
            change("n1", second: 0, stars: 5), change("n1", second: 0, stars: 4), change("n2", second: 2, stars: 1),
            #"{"type":"badge.set",\#(place),"\#(Member.user)":"_alice","topic":"com.example.Notes","badge":0}"#,
            change("d1", second: 3, stars: 9, type: "Draft"), change("n3", second: 3, stars: 5),
            #"{"type":"record.delete",\#(place),"database":"private","owner":"_alice","record":{"recordName":"n2","recordType":"Note",\#(zone)}}"#,
            #"{"type":"subscription.delete",\#(place),"database":"private","\#(Member.user)":"_alice","\#(Member.subscriptionID)":"zone"}"#,
            change("n4", second: 20, stars: 7), change("n5", second: 21, stars: 0),
        ]
    }()
}
