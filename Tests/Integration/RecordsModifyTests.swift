import BuiltIns
import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Replay
import TestSupport
import Testing

/// Tests `records.modify`, the command that can change several records at once, in a running pipeline.
@Suite struct RecordsModify {
    private static let place =
        #""container":"iCloud.com.example.Notes","environment":"development","database":"private","owner":"_alice""#

    private static func operation(_ type: String, _ name: String, tag: Int? = nil, fields: String? = nil) -> String {
        let tag = tag.map { #","recordChangeTag":"\#(String($0, radix: 36))""# } ?? ""
        let fields = fields.map { #","fields":\#($0)"# } ?? ""
        return #"{"operationType":"\#(type)","record":{"recordName":"\#(name)","recordType":"Note"\#(tag)\#(fields)}}"#
    }

    private static func modify(_ operations: [String], request: Int) -> String {
        #"{"type":"records.modify",\#(place),"request":"\#(request)","operations":[\#(operations.joined(separator: ","))]}"#
    }

    private static func commands(_ random: inout Seeded) -> [String] {
        (1...300).map { number in
            let names = (0..<8).shuffled(using: &random).prefix(1 + random.below(4))
            return modify(
                names.map { name in
                    let type = random.one(of: [
                        "create", "update", "forceUpdate", "forceUpdate", "replace", "delete", "forceDelete",
                    ])
                    let fields = #"{"f\#(random.below(3))":{"value":\#(number)}}"#
                    return operation(
                        type, "n\(name)", tag: random.below(2 * number), fields: type.hasSuffix("elete") ? nil : fields)
                }, request: number)
        }
    }

    @Test func `random restarts change no event in the changes log`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Self.commands(&random)
        let chain = try Chain(PipelineFile.fiveStages(), registry: .builtIns)
        var refused = 0
        for command in commands {
            do { try chain.send(command) } catch is Chain.Refusal { refused += 1 }
        }
        #expect(refused > 30 && refused < 270, "seed \(Seeded.ofThisRun)")
        for snapshotBytes in [1, nil] {
            let log = LogSettings(sync: .never, snapshotBytes: snapshotBytes)
            let pipeline = try VirtualPipeline(PipelineFile.fiveStages(), log: log)
            let places = [0] + (0..<4).map { _ in random.below(commands.count) }.sorted() + [commands.count]
            for (start, end) in zip(places, places.dropFirst()) {
                let batchSizes = (0..<30).map { _ in 1 + random.below(20) }
                try await pipeline.run(Array(commands[start..<end]), batchSizes: batchSizes, drains: false)
            }
            #expect(
                try pipeline.events(of: "changes") == chain.events(of: "changes").map(\.text),
                "seed \(Seeded.ofThisRun), restarts at \(places)")
        }
    }

    @Test func `the events of one command are in one batch, even if a frame of commands fills several batches`()
        async throws
    {
        let fields = #"{"f":{"value":"\#(String(repeating: "x", count: 900_000))"}}"#
        let commands = (1...12).map { number in
            Self.modify((0..<4).map { Self.operation("forceReplace", "n\($0)", fields: fields) }, request: number)
        }
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages())
        try await pipeline.run(commands, batchSizes: [commands.count], drains: false)
        let reader = try EventLogReader(directory: pipeline.folderOfLogs + "/changes", from: .beginning)
        var batches: [[String]] = []
        var parser = JSONParser()
        while let batch = try reader.next() {
            guard batch.header.count > 0 else { continue }
            batches.append(try Lines(batch.body).map { try parser.parse($0).text("request") ?? "" })
        }
        #expect(batches.count > 2 && batches.joined().count == 48)
        for number in 1...12 {
            let counts = batches.map { requests in requests.count { $0 == "\(number)" } }
            #expect(counts.filter { $0 > 0 } == [4], "request \(number)")
        }
    }
}
