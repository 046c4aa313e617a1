import TestSupport
import Testing

@testable import PipelineRuntime

@Suite struct ConsumerPositionsTests {
    @Test
    func `a reported position counts while its stage is down, and a stage that never reported needs the whole log`()
        throws
    {
        let folder = try Folder()
        var positions = try ConsumerPositions(logDirectory: folder.path)
        #expect(positions.first(of: ["match"]) == 1)
        #expect(positions.first(of: []) == .max)
        do {
            let needsMore = positions.update(with: ["match": 70, "audit": 90])
            #expect(!needsMore)
        }
        try positions.save()
        let again = try ConsumerPositions(logDirectory: folder.path)
        #expect(again.first(of: ["match", "audit"]) == 70)
        #expect(again.first(of: ["match", "audit", "never"]) == 1)
    }

    @Test func `an update of positions says whether a stage needs earlier events than before`() throws {
        let folder = try Folder()
        var positions = try ConsumerPositions(logDirectory: folder.path)
        do {
            let needsMore = positions.update(with: ["match": 70])
            #expect(!needsMore)
        }
        do {
            let needsMore = positions.update(with: ["match": 71])
            #expect(!needsMore)
        }
        do {
            let needsMore = positions.update(with: ["match": 1])
            #expect(needsMore)
        }
        #expect(positions.first(of: ["match"]) == 1)
    }

    @Test func `positions that return to their first values are written again`() async throws {
        let folder = try Folder()
        let host = try RunningHost("gate", of: try .gateAndRelay(in: folder), try HostContext())
        try await host.waitUntilUp()
        try await host.stop()
        let plan = host.host.plan
        var positions = try ConsumerPositions(logDirectory: plan.logDirectory)
        _ = positions.update(with: ["relay": 1])
        try positions.save()
        let files = RetentionFiles(plan, saved: positions)
        for first in [70, 1] as [UInt64] {
            _ = positions.update(with: ["relay": first])
            files.save(positions)
            files.wait()
            #expect(try ConsumerPositions(logDirectory: plan.logDirectory).first(of: ["relay"]) == first)
        }
    }

    @Test func `a file of consumer positions with missing members is refused`() throws {
        let folder = try Folder()
        try folder.write("[{\"name\":\"match\"}]", to: "consumers.json")
        #expect(throws: AtomicTextFileError.self) { try ConsumerPositions(logDirectory: folder.path) }
    }

    @Test func `a file that was changed by hand is refused, and a file of an earlier build is accepted`() throws {
        let folder = try Folder()
        // An earlier build wrote no checksum.
        try folder.write(#"[{"name":"match","first":70}]"# + "\n", to: "consumers.json")
        var positions = try ConsumerPositions(logDirectory: folder.path)
        #expect(positions.first(of: ["match"]) == 70)
        _ = positions.update(with: ["match": 71])
        try positions.save()
        let text = try #require(try folder.lines(of: "consumers.json").first)
        try folder.write(text.replacing("71", with: "75", maxReplacements: 1), to: "consumers.json")
        #expect(throws: AtomicTextFileError.self) { try ConsumerPositions(logDirectory: folder.path) }
    }
}
