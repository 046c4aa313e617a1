import JSON
import PipelineKit
import Testing
import Time

@testable import Match

/// A match stage that gets lines of the changes log, numbered from 1.
struct Feed: ~Copyable {
    static let upstream = LogIdentity(seed: "match tests", name: "changes")

    private var clock: StageClock<MatchStage>
    private var parser = JSONParser()
    private var out = Outbox()
    private(set) var sequence: UInt64 = 0
    /// The code and path of each rejection so far.
    private(set) var rejections: [String] = []

    private static let context =
        StageContext(
            log: LogIdentity(seed: "match tests", name: "matches"), upstream: Feed.upstream, upstreamName: "changes")

    init(_ settings: MatchSettings = MatchSettings()) throws {
        clock = StageClock(try MatchStage(settings, context: Feed.context))
    }

    /// Continues with other settings.
    mutating func adopt(_ settings: MatchSettings) throws { try clock.adopt(settings, context: Feed.context) }

    var deadline: Instant? { clock.stage.deadline }
    var stage: MatchStage { clock.stage }

    /// Feeds a line and returns the events that the stage wrote. Between the previous line and this line, `skipped`
    /// sequences are left out.
    mutating func send(_ line: String, at microseconds: Int64 = 0, skipping skipped: UInt64 = 0) throws -> [String] {
        sequence += skipped + 1
        var line = line
        try line.withUTF8 { bytes in
            let text = UnsafeRawBufferPointer(bytes)
            let event = InputEvent(sequence: sequence, json: try parser.parse(text), line: text)
            clock.receive(event, at: Instant(microseconds: microseconds), into: &out)
        }
        return drain()
    }

    mutating func advance(to microseconds: Int64) -> [String] {
        clock.advance(to: Instant(microseconds: microseconds), into: &out)
        return drain()
    }

    private mutating func drain() -> [String] {
        rejections += out.takeRejections().map { "\($0.rejection.code) \($0.rejection.path)" }
        defer { out.removeEvents() }
        return String(decoding: out.lines, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Feeds a line and returns the IDs of the subscriptions that its matches name.
    mutating func watchers(_ line: String) throws -> [String] {
        try send(line).filter { $0.hasPrefix("{\"type\":\"match\"") }.map { match in
            let tail = match.rest(after: "\"subscriptionID\":\"")
            return String(tail.prefix { $0 != "\"" })
        }
    }
}

extension String {
    fileprivate func rest(after mark: String) -> Substring {
        guard let range = firstRange(of: mark) else { return "" }
        return self[range.upperBound...]
    }
}

/// Lines of the changes log. Unless `place` says otherwise, they are about the same container and environment.
enum Line {
    static let place = #""container":"iCloud.c","environment":"development""#

    /// A `subscription.save`.
    ///
    /// - Parameter body: The members of the subscription after its ID, as from ``query(_:more:firesOn:)``.
    static func save(
        _ body: String, id: String = "s", database: String = "private", user: String = "_a", place: String = Line.place
    ) -> String {
        """
        {"type":"subscription.save",\(place),"database":"\(database)","user":"\(user)",\
        "subscription":{"subscriptionID":"\(id)",\(body)}}
        """
    }

    /// The members of a query subscription, for ``save(_:id:database:user:place:)``.
    ///
    /// - Parameters:
    ///   - query: The members of `query` after the record type.
    ///   - more: Further members of the subscription; begins with a comma.
    static func query(
        _ query: String = "", more: String = "", firesOn: String = #"["create","update","delete"]"#
    ) -> String {
        """
        "subscriptionType":"query","query":{"recordType":"Note"\(query.isEmpty ? "" : ",")\(query)},\
        "firesOn":\(firesOn)\(more)
        """
    }

    /// A `subscription.delete`.
    static func remove(id: String = "s", database: String = "private", user: String = "_a") -> String {
        #"{"type":"subscription.delete",\#(place),"database":"\#(database)","user":"\#(user)","subscriptionID":"\#(id)"}"#
    }

    /// A `record.save` or `record.delete`.
    static func change(
        _ change: String = "create", database: String = "private", owner: String? = "_a", type: String = "Note",
        zone: String? = nil, fields: String = "{}", place: String = Line.place
    ) -> String {
        let owner = owner.map { #","owner":"\#($0)""# } ?? ""
        let zone = zone.map { #","zoneID":{"zoneName":"\#($0)"}"# } ?? ""
        let record = #"{"recordName":"n1","recordType":"\#(type)"\#(zone)"#
        let head = #"\#(place),"database":"\#(database)"\#(owner)"#
        if change == "delete" {
            return #"{"type":"record.delete",\#(head),"record":\#(record)},"change":"delete","before":\#(fields)}"#
        }
        return #"{"type":"record.save",\#(head),"record":\#(record),"fields":\#(fields)},"change":"\#(change)"}"#
    }
}
