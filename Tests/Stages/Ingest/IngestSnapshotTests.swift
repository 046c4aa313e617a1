import PipelineKit
import TestSupport
import Testing
import Time

@testable import Ingest

struct IngestSnapshotTests {
    private typealias Run = StageRun<IngestStage>

    private let past = PastInMemory()

    private func fresh() throws -> IngestStage { try IngestStage(IngestSettings(), context: .ingest(past)) }

    private static func command(_ draw: inout Seeded) -> String {
        let (name, type) = ("n\(draw.below(30))", draw.one(of: ["Note", "Task"]))
        let (zone, database) = (
            draw.one(of: ["Notes", "_defaultZone"]), draw.one(of: ["private", "public", "shared"])
        )
        let owner = draw.one(of: ["_alice", "_bob"])
        if draw.isOneIn(20) { return Example.zone(draw.one(of: ["save", "delete"]), "Notes", owner: owner) }
        guard !draw.isOneIn(3) else {
            let named = draw.isOneIn(2) ? type : nil
            return Example.delete(name, type: named, zone: zone, database: database, owner: owner)
        }
        let fields = #"{"v":{"value":\#(draw.below(100)),"type":"INT64"}}"#
        return Example.save(name, type: type, fields: fields, zone: zone, database: database, owner: owner)
    }

    @Test(arguments: Seeded.seeds)
    func `a restored stage continues like the original one`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let history = (0..<600).map { _ in Run.Arrival(Self.command(&draw)) }
        let (uninterrupted, restored) = try Run.split(history, at: draw.below(400), past: past, fresh: fresh)
        #expect(uninterrupted.difference(from: restored) == nil, "seed \(seed)")
        #expect(uninterrupted.state.count > 50, "seed \(seed)")
    }

    @Test(arguments: Seeded.seeds)
    func `a snapshot does not depend on earlier versions of records`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let badge = #"{"type":"badge.set",\#(Example.place),"user":"_alice","badge":0}"#
        let saves = (0..<200).map { Example.save("n\($0)", owner: draw.one(of: ["_alice", "_bob"])) }
        let earlier = saves.shuffled(using: &draw).prefix(50)
        // A snapshot has the zones in the order in which commands first named them. So both runs begin with the same
        // two zones.
        let zones = ["_alice", "_bob"].map { Example.save("first", owner: $0) }
        func run(_ commands: [String]) throws -> Run {
            let past = PastInMemory()
            var run = Run(try IngestStage(IngestSettings(), context: .ingest(past)), past: past)
            for command in commands { _ = try run.receive(.init(command)) }
            return run
        }
        let (one, other) = (
            try run(zones + earlier + saves), try run(zones + earlier.map { _ in badge } + saves)
        )
        #expect(one.snapshot == other.snapshot, "seed \(seed)")
        #expect(one.state == other.state, "seed \(seed)")
    }

    @Test func `a damaged snapshot is rejected, or the restored stage works`() throws {
        var run = Run(try fresh(), past: past)
        let commands = [Example.save(), Example.save("n2", database: "public"), Example.save(database: "shared")]
        for command in commands { _ = try run.receive(.init(command)) }
        let then = (commands + [Example.delete(type: nil)]).map { Run.Arrival($0) }
        let report = try run.damageReport(fresh: fresh, then: then)
        #expect(report.prefixesAccepted == 0)
        #expect(report.changedBytesRefused > 0)
    }

    @Test func `the state has one line per record`() throws {
        var run = Run(try fresh(), past: past)
        let shared = Example.save("s", zone: "Z", database: "shared")
            .replacing(#""zoneName":"#, with: #""ownerRecordName":"_bob","zoneName":"#)
        let saves = [shared, Example.save("p", zone: "_defaultZone", database: "public"), Example.save("n \\\" 1")]
        for save in saves { _ = try run.receive(.init(save)) }
        let rest = #""recordType":"Note","fields":{"title":{"value":"Hi","type":"STRING"}}}"#
        #expect(
            run.state == [
                #"{\#(Example.place),"database":"private","owner":"_alice","recordName":"n \" 1","#
                    + #""zoneID":{"zoneName":"Notes"},\#(rest)"#,
                #"{\#(Example.place),"database":"public","recordName":"p","#
                    + #""zoneID":{"zoneName":"_defaultZone"},\#(rest)"#,
                #"{\#(Example.place),"database":"shared","owner":"_alice","recordName":"s","#
                    + #""zoneID":{"zoneName":"Z","ownerRecordName":"_bob"},\#(rest)"#,
            ])
    }
}
