import StageTool
import TestSupport
import Testing

@testable import Inspect

@Suite struct DeadLetterFilterTests {
    @Test func `an error about an unknown stage lists the stages`() throws {
        let logs = try DeadLetterLogs.fourLetters()
        let failure = #expect(throws: ToolFailure.self) { try logs.find(["--stage", "match", "--stage", "nosuch"]) }
        #expect(failure?.status == .usage)
        #expect(failure?.message.contains("there is no stage nosuch in ") == true)
        #expect(failure?.message.hasSuffix("its stages: ingest, match, coalesce, payload, deliver") == true)
    }

    @Test(arguments: [
        ([], ["m1", "o1", "o2", "o3"]),
        (["--stage", "match"], ["m1"]),
        (["--stage", "deliver"], ["o1", "o2", "o3"]),
        (["--stage", "match", "--stage", "deliver"], ["m1", "o1", "o2", "o3"]),
        (["--code", "failed"], ["o1", "o3"]),
        (["--code", "field.type"], ["m1"]),
        (["--code", "failed", "--code", "expired"], ["o1", "o2", "o3"]),
        (["--reason", "badtopic"], ["o1"]),
        (["--reason", "400"], ["o1"]),
        (["--reason", "an object"], ["m1"]),
        (["--reason", "nothing"], []),
        (["--user", "_bob"], ["o3"]),
        (["--user", "_alice"], ["m1", "o1", "o2"]),
        (["--device", "pad"], ["o2", "o3"]),
        (["--device", "pad", "--user", "_alice"], ["o2"]),
        (["--container", "iCloud.Other"], ["o3"]),
        (["--container", "iCloud.Notes"], ["m1", "o1", "o2"]),
        (["--topic", "com.b"], ["o2"]),
        (["--topic", "com.a"], ["o1"]),
        (["--from", "4"], ["m1", "o3"]),
        (["--until", "4"], ["o1", "o2", "o3"]),
        (["--from", "2", "--until", "4"], ["o3"]),
        (["--from", "99"], []),
        (["--from", "2026-01-01T00:00:02Z"], ["o2", "o3"]),
        (["--until", "2026-01-01T00:00:01Z"], ["m1", "o1"]),
        (["--from", "-6s"], ["o2", "o3"]),
    ])
    func `a filter selects the dead letters that match it`(arguments: [String], expected: [String]) throws {
        #expect(try Self.names(DeadLetterLogs.fourLetters().find(arguments)) == expected)
    }

    private static func names(_ found: DeadLetters) -> [String] {
        let logs = ["matches.dead-letters": "m", "outcomes": "o"]
        return found.letters.map { "\(logs[$0.letter.place.log] ?? "?")\($0.letter.place.sequence)" }
    }

    @Test(arguments: [("--from", ["m1", "o3"]), ("--until", ["o1", "o2"])])
    func `--from and --until may name a change that retention removed`(option: String, expected: [String]) throws {
        let logs = try DeadLetterLogs.fourLetters()
        try logs.trimChanges(before: 4)
        #expect(try Self.names(logs.find([option, "2"])) == expected)
    }
}
