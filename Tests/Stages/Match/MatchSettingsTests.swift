import PipelineKit
import Testing

@testable import Match

struct MatchSettingsTests {
    private static func read(_ text: String) throws -> MatchSettings {
        try SettingsReader(text: text, file: "test.yaml").decode(MatchSettings.self)
    }

    @Test func `strictRecordType is narrow by default, and an invalid setting is rejected`() throws {
        #expect(try Self.read("{}") == MatchSettings())
        #expect(try Self.read("strictRecordType: narrow") == MatchSettings())
        #expect(try Self.read("strictRecordType: ignore").strictRecordType == .ignore)
        for text in ["strictRecordType: true", "recordType: ignore"] {
            #expect(throws: PipelineFileError.self) { try Self.read(text) }
        }
    }

    private static let bodies = [
        #""subscriptionType":"zone","zoneID":{"zoneName":"Z"},"recordType":"Else""#,
        #""subscriptionType":"database","recordType":"Else""#,
        #""subscriptionType":"zone","zoneWide":true,"recordType":"Else""#,
    ]

    @Test(arguments: bodies)
    func `a subscription whose record type is ignored watches all types`(body: String) throws {
        for (settings, isWatched) in [(MatchSettings(), false), (MatchSettings(strictRecordType: .ignore), true)] {
            var feed = try Feed(settings)
            _ = try feed.send(Line.save(body))
            #expect(try feed.watchers(Line.change(type: "Else", zone: "Z")) == ["s"])
            #expect(try feed.watchers(Line.change(zone: "Z")) == (isWatched ? ["s"] : []))
            let deleteWithoutType =
                #"{"type":"record.delete",\#(Line.place),"database":"private","owner":"_a","#
                + #""record":{"recordName":"n","zoneID":{"zoneName":"Z"}}}"#
            #expect(try feed.watchers(deleteWithoutType) == (isWatched ? ["s"] : []))
        }
    }

    @Test func `a query's record type is never ignored`() throws {
        var feed = try Feed(MatchSettings(strictRecordType: .ignore))
        _ = try feed.send(Line.save(Line.query()))
        #expect(try feed.watchers(Line.change(type: "Else")) == [])
        #expect(try feed.watchers(Line.change()) == ["s"])
    }

    /// A host adopts other settings after a change in the pipeline file.
    @Test func `a changed setting applies to saved subscriptions`() throws {
        var feed = try Feed()
        for (number, body) in Self.bodies.enumerated() { _ = try feed.send(Line.save(body, id: "s\(number)")) }
        #expect(try feed.watchers(Line.change(zone: "Z")) == [])
        try feed.adopt(MatchSettings(strictRecordType: .ignore))
        #expect(try feed.watchers(Line.change(zone: "Z")) == ["s0", "s1", "s2"])
        try feed.adopt(MatchSettings())
        #expect(try feed.watchers(Line.change(zone: "Z")) == [])
    }

    @Test func `the explanation says whether the record type was ignored`() throws {
        func codes(_ settings: MatchSettings, _ change: String) throws -> [ExplanationCode] {
            var feed = try Feed(settings)
            _ = try feed.send(Line.save(Self.bodies[1]))
            return try feed.explain(change).flatMap { [$0.code] + $0.parts.map(\.code) }
        }
        let other = Line.change(zone: "Z")
        let ignoring = MatchSettings(strictRecordType: .ignore)
        #expect(try codes(ignoring, other).contains(.recordTypeIgnored))
        #expect(try codes(ignoring, other).first == .subscriptionMatched)
        #expect(try codes(MatchSettings(), other).contains(.recordTypeDiffers))
        #expect(try codes(ignoring, Line.change(type: "Else", zone: "Z")).contains(.recordTypeSame))
    }
}
