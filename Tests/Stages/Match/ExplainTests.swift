import PipelineKit
import TestSupport
import Testing

@testable import Match

extension Feed {
    /// Explains a line of the changes log. Without a subject, explains it for all subscriptions.
    func explain(_ line: String, _ subject: ExplainedSubject = ExplainedSubject()) throws -> [Explanation] {
        try InputEvent.read(line, sequence: sequence + 1) { stage.explain($0, at: .epoch, for: subject) }
    }

    /// The codes of the checks of the only saved subscription.
    func codes(_ line: String) throws -> [ExplanationCode] {
        let explanations = try explain(line)
        try #require(explanations.count == 1)
        return explanations[0].parts.map(\.code)
    }
}

struct ExplainTests {
    private func feed(_ lines: String...) throws -> Feed {
        var feed = try Feed()
        for line in lines { _ = try feed.send(line) }
        return feed
    }

    @Test func `the explanation lists each check in order, and each clause with the record's value`() throws {
        let query = Line.query(
            #""predicate":"title BEGINSWITH 'H' AND stars > 3 AND NOT tags CONTAINS 'x' AND size < 5""#)
        let feed = try feed(Line.save(query))
        let line = Line.change(
            fields: #"{"title":{"value":"Hi"},"stars":{"value":2},"tags":{"value":"no list"}}"#)
        let explanation = try #require(try feed.explain(line).first)
        #expect(explanation.code == .subscriptionNotMatched)
        #expect(
            explanation.parts.map(\.code) == [
                .scopeSame, .zoneSame, .recordTypeSame, .firesOnSame, .clauseTrue, .clauseFalse, .clauseTypeDiffers,
                .clauseFieldMissing,
            ])
        #expect(explanation.parts[4].text == #"title BEGINSWITH 'H' is true: title was "Hi""#)
        #expect(explanation.parts[5].text == "stars > 3 is false: stars was 2")
        #expect(explanation.parts[5].detail("value") == "2")
        #expect(explanation.parts[6].text.hasPrefix(#"NOT tags CONTAINS 'x' is false: tags was "no list""#))
        #expect(explanation.text == #""s" of _a does not watch the change: stars > 3 is false: stars was 2"#)
    }

    @Test func `the explanation includes searches for words, system fields and both sides of OR`() throws {
        let query = Line.query(
            #""predicate":"self CONTAINS %@ AND recordID == 'n1' AND (stars > 3 OR stars == 2)","arguments":["hi"]"#)
        let feed = try feed(Line.save(query))
        let line = Line.change(fields: #"{"title":{"value":"Hi"},"stars":{"value":2}}"#)
        let parts = try #require(try feed.explain(line).first).parts.dropFirst(4)
        #expect(parts.map(\.code) == [.clauseTrue, .clauseTrue, .conditionTrue])
        #expect(parts.last?.parts.map(\.code) == [.clauseFalse, .clauseTrue])
        let other = Line.change(fields: #"{"title":{"value":"Ho"}}"#)
        let failed = try #require(try feed.explain(other).first).parts.dropFirst(4)
        #expect(failed.map(\.code) == [.clauseFalse, .clauseTrue, .conditionFalse])
    }

    @Test func `the explanation has the creator and the modification date even if the record lacks them`() throws {
        let query = Line.query(#""predicate":"creatorUserRecordID == '_b' AND modificationDate > 5""#)
        let parts = try #require(try feed(Line.save(query)).explain(Line.change()).first).parts.suffix(2)
        #expect(
            parts.map(\.text) == [
                #"creatorUserRecordID == reference('_b') is false: creatorUserRecordID was "_a""#,
                "modificationDate > 5 is false: modificationDate was 0",
            ])
        #expect(parts.map { $0.detail("value") } == [#""_a""#, "0"])
    }

    @Test func `the explanation names the container, environment, database or owner that differs`() throws {
        let feed = try feed(Line.save(Line.query()))
        let other = #""container":"iCloud.d","environment":"development""#
        let production = #""container":"iCloud.c","environment":"production""#
        #expect(try feed.codes(Line.change(place: other)) == [.containerDiffers])
        #expect(try feed.codes(Line.change(place: production)) == [.environmentDiffers])
        #expect(try feed.codes(Line.change(database: "public", owner: nil)) == [.databaseDiffers])
        #expect(try feed.codes(Line.change(owner: "_b")) == [.ownerDiffers])
    }

    @Test func `the explanation names the zone, record type, firesOn or predicate that excludes the change`() throws {
        let queryFeed = try feed(Line.save(Line.query(firesOn: #"["create"]"#)))
        #expect(try queryFeed.codes(Line.change(zone: "Z"))[1] == .zoneDiffers)
        #expect(try queryFeed.codes(Line.change(type: "Task"))[2] == .recordTypeDiffers)
        #expect(try queryFeed.codes(Line.change("update"))[3] == .firesOnDiffers)
        let databaseFeed = try feed(Line.save(#""subscriptionType":"database""#))
        #expect(try databaseFeed.codes(Line.change())[1] == .zoneDefault)
        #expect(try databaseFeed.codes(Line.change(zone: "Z"))[1] == .zoneSame)
        let neverFeed = try feed(Line.save(Line.query(#""predicate":"FALSEPREDICATE""#)))
        #expect(try neverFeed.codes(Line.change()).last == .predicateNever)
    }

    @Test func `only changes are explained, and only for the subscriptions of the subject`() throws {
        let feed = try feed(
            Line.save(Line.query(), id: "one"), Line.save(Line.query(), id: "two"),
            Line.save(Line.query(), id: "one", user: "_b"))
        #expect(try feed.explain(Line.change()).count == 3)
        #expect(try feed.explain(Line.change(), ExplainedSubject(user: "_a")).count == 2)
        #expect(try feed.explain(Line.change(), ExplainedSubject(subscriptionID: "one")).count == 2)
        #expect(try feed.explain(Line.change(), ExplainedSubject(user: "_b", subscriptionID: "two")).isEmpty)
        #expect(try feed.explain(Line.remove()).isEmpty)
        let refused = try feed.explain(#"{"type":"record.save","record":{}}"#)
        #expect(refused.map(\.code) == [.changeRefused])
    }

    @Test(arguments: Seeded.seeds)
    func `the explanation agrees with matching for every subscription`(seed: UInt64) throws {
        var random = Seeded(seed)
        var feed = try Feed()
        for _ in 0..<400 {
            if random.below(3) == 0 {
                _ = try feed.send(DrawnSubscription(.wide, &random).line)
                continue
            }
            let line = DrawnChange(.wide, &random).line
            let explanations = try feed.explain(line)
            let watching = explanations.filter { $0.code == .subscriptionMatched }
            let ids = watching.map { $0.detail("subscriptionID")?.dropFirst().dropLast() ?? "" }
            #expect(try feed.watchers(line) == ids.map(String.init), "seed \(seed)")
        }
    }
}
