import PipelineKit
import PipelineRuntime
import StageTool
import TestSupport
import Testing

/// A producer whose door restarted. The door had accepted or refused some lines, but had not answered them.
@Suite(.timeLimit(.minutes(1))) struct LostAnswerTests {
    private static let lines = Array(text: "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n")

    @Test func `the lost answers to lines that the door got before its restart are reported`() async throws {
        let reports = try await Self.reports { door in
            try door.welcome(after: 0, refused: 0)
            try door.waitFor("produce", containing: #""first":4"#)
            try door.send(
                #"{"type":"answer","producer":"p","through":6,"accepted":2,"last":4,"refused":1,"#
                    + #""refusals":[{"line":5,"code":"n.missing","path":"n","reason":"it is missing"}]}"#)
            try door.waitFor("hello")
            try door.welcome(after: 6, refused: 3)
        }
        #expect(
            reports == [
                "no answers for 1...3, events up to 4", "answer through 6: n.missing in line 5",
                "refused without an answer: 2",
            ])
    }

    @Test func `the welcome of a restarted door tells how many of the lines with lost answers were refused`()
        async throws
    {
        let reports = try await Self.reports { door in
            try door.welcome(after: 0, refused: 0)
            try door.waitFor("produce", containing: #""first":4"#)
            try door.waitFor("hello")
            try door.welcome(after: 6, refused: 1)
        }
        #expect(reports == ["no answers for 1...6, events up to 4", "refused without an answer: 1"])
    }

    @Test func `the answers to lines of an earlier run are not reported as lost`() async throws {
        let reports = try await Self.reports { door in
            try door.welcome(after: 5, refused: 2)
            try door.waitFor("produce", containing: #""first":9"#)
            try door.send(
                #"{"type":"answer","producer":"p","through":11,"accepted":6,"last":4,"refused":0,"refusals":[]}"#)
        }
        #expect(reports == ["answer through 11:", "refused without an answer: 0"])
    }

    @Test func `a sender reports how many lines were refused without an answer`() async throws {
        let folder = try Folder()
        let input = try folder.write((1...6).map { "{\"n\":\($0)}\n" }.joined(), to: "notes.ndjson")
        let (totals, complaints) = try await FakeDoor.answering { door in
            try door.welcome(after: 0, refused: 0)
            try door.waitFor("produce", containing: #""first":1"#)
            try door.send(
                #"{"type":"answer","producer":"p","through":6,"accepted":2,"last":4,"refused":1,"#
                    + #""refusals":[{"line":5,"code":"n.missing","path":"n","reason":"it is missing"}]}"#)
            try door.waitFor("hello")
            try door.welcome(after: 6, refused: 3)
        } to: { producer in
            var complaints: [String] = []
            let sender = LineSender(producer, [InputSource(path: input)]) { complaints.append($0) }
            return (try sender.run(silenceMax: .seconds(20), resumes: true), complaints)
        }
        #expect(totals.accepted == 3 && totals.refused == 3)
        #expect(
            complaints == [
                "\(input):5: n: it is missing (n.missing)",
                "\(input):1 to \(input):3: 3 lines had no answer, because the ingest stage restarted; it refused 2 of "
                    + "these lines. Compare them with the changes log, correct the refused lines and send only these again",
            ])
    }

    @Test func `a sender that stops before it knows how many lines were refused says so`() async throws {
        let folder = try Folder()
        let input = try folder.write((1...6).map { "{\"n\":\($0)}\n" }.joined(), to: "notes.ndjson")
        let reports = try await FakeDoor.answering { door in
            try door.welcome(after: 0, refused: 0)
            try door.waitFor("produce", containing: #""first":1"#)
            try door.send(
                #"{"type":"answer","producer":"p","through":6,"accepted":3,"last":4,"refused":0,"refusals":[]}"#)
        } to: { producer in
            var reports: [String] = []
            let sender = LineSender(producer, [InputSource(path: input)]) { reports.append($0) }
            sender.mayContinue = { $0.accepted < 6 }
            _ = try sender.run(silenceMax: .seconds(20), resumes: true)
            return reports
        }
        #expect(reports.count == 1 && reports[0].contains("it refused an unknown number of these lines"), "\(reports)")
    }

    /// Sends six lines in two frames to a door that answers as `script` says.
    ///
    /// - Returns: What the producer reported, in order.
    private static func reports(_ script: @escaping @Sendable (FakeDoor) throws -> Void) async throws -> [String] {
        try await FakeDoor.answering(script) { producer in
            var reports: [String] = []
            producer.onAnswer = { answer in
                let refusals = answer.refusals.map { " \($0.code) in line \($0.line)" }.joined()
                reports.append("answer through \(answer.through):" + refusals)
            }
            producer.onLostAnswers = { reports.append("no answers for \($0.lines), events up to \($0.last)") }
            _ = try producer.greet(timeout: .seconds(20))
            for _ in 0..<2 { try producer.send(lines, count: 3) }
            while !producer.isDone { try producer.pump(wait: .milliseconds(50)) }
            return reports + ["refused without an answer: \(producer.refusedWithoutAnswer.map(String.init) ?? "?")"]
        }
    }
}
