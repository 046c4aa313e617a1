import StageTool
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct RefusalReportTests {
    @Test func `with a limit the first refused lines are reported, and without a limit all`() async throws {
        let some = try await Self.reports(refusalsMax: 2)
        #expect(some.count == 3 && some[1].hasSuffix(":2: n: it is missing (n.missing)"), "\(some)")
        #expect(some.last?.hasPrefix("… and more refused lines") == true, "\(some)")
        let all = try await Self.reports(refusalsMax: nil)
        #expect(all.count == 6 && all.allSatisfy { $0.hasSuffix(" (n.missing)") }, "\(all)")
    }

    /// Sends six lines to a door that refuses all of them.
    private static func reports(refusalsMax: Int?) async throws -> [String] {
        let folder = try Folder()
        let input = try folder.write(String(repeating: "{}\n", count: 6), to: "bad.ndjson")
        return try await FakeDoor.answering { door in
            try door.welcome(after: 0, refused: 0)
            try door.waitFor("produce")
            let refusals = (1...6).map { #"{"line":\#($0),"code":"n.missing","path":"n","reason":"it is missing"}"# }
            try door.send(
                #"{"type":"answer","producer":"p","through":6,"accepted":0,"last":4,"refused":6,"#
                    + #""refusals":[\#(refusals.joined(separator: ","))]}"#)
        } to: { producer in
            var reports: [String] = []
            let sender = LineSender(producer, [InputSource(path: input)], refusalsMax: refusalsMax) {
                reports.append($0)
            }
            _ = try sender.run(silenceMax: .seconds(20), resumes: false)
            return reports
        }
    }
}
