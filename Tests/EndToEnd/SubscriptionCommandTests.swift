import Foundation
import Testing

/// What `belfry send` and `belfry run` print about saved subscriptions.
@Suite(.timeLimit(.minutes(5)))
struct SubscriptionCommandTests {
    private static func save(_ id: String, _ predicate: String, database: String = "public") -> String {
        """
        {"type":"subscription.save","container":"iCloud.com.example.Notes","environment":"development",\
        "database":"\(database)","user":"_alice","subscription":{"subscriptionID":"\(id)","subscriptionType":"query",\
        "query":{"recordType":"Note","predicate":"\(predicate)"},"firesOn":["create"]}}

        """
    }

    private static let warning = """
        standard input:2: warning: subscription.query.predicate: the predicate can never be true: stars would have to be \
        in an empty range (at byte 14 of the predicate) (predicate.never)
            stars > 3 AND stars < 2
                          ^

        """

    private static let input = save("feed", "stars > 3") + save("never", "stars > 3 AND stars < 2")

    @Test func `send prints the change from which each subscription is active, and warnings`() async throws {
        let notes = try Notes()
        let ingest = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        let piped = try await Program.run("belfry", ["send", notes.pipeline], input: Self.input)
        #expect(piped.status == 0)
        let lines = piped.output.split(separator: "\n")
        #expect(
            lines.first
                == #"{"source":"standard input","line":1,"subscriptionID":"feed","activeFrom":1,"warnings":[]}"#)
        #expect(
            lines.last?.hasPrefix(
                #"{"source":"standard input","line":2,"subscriptionID":"never","activeFrom":2,"warnings":["#
                    + #"{"code":"predicate.never","path":"subscription.query.predicate","offset":14,"reason":"the "#)
                == true)
        #expect(lines.count == 2)
        #expect(piped.errors == Self.warning + "2 lines sent\n")
        let seen = try await Program.run("belfry", ["send", notes.pipeline], input: Self.input, onTerminal: true)
        #expect(seen.status == 0)
        #expect(
            seen.output.split(whereSeparator: \.isNewline) == [
                #"standard input:1: "feed" is active from change 3"#,
                #"standard input:2: "never" is active from change 4"#,
            ])
        #expect(seen.errors == Self.warning + "2 lines sent\n")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `a terminal gets only the first subscriptions and a count`() async throws {
        let notes = try Notes()
        let ingest = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        let input = (0..<30).map { Self.save("s\($0)", "stars > 3") }.joined()
        let seen = try await Program.run("belfry", ["send", notes.pipeline], input: input, onTerminal: true)
        let lines = seen.output.split(whereSeparator: \.isNewline)
        #expect(lines.count == 21 && lines.last == "… and 10 more subscriptions")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `run prints warnings and exits with 0`() async throws {
        let notes = try Notes()
        let moved = Self.save("feed", "stars > 3", database: "private")
        let result = try await Program.run("belfry", ["run", notes.pipeline], input: Self.input + moved)
        #expect(result.status == 0)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix(Self.warning))
        #expect(
            result.errors.dropFirst(Self.warning.count).hasPrefix(
                "standard input:3: warning: subscription.subscriptionID: the user already had a subscription "
                    + #""feed" in the public database; "#
            ))
        #expect(result.errors.hasSuffix("(subscription.moved)\n"))
    }
}
