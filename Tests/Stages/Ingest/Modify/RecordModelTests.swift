import TestSupport
import Testing

@testable import Ingest

/// Compares ingest with ``RecordModel``, for random commands.
struct RecordModelTests {
    @Test(arguments: Seeded.seeds)
    func `random commands lead to the model's events and refusals, also after restarts`(seed: UInt64) throws {
        for round in 0..<Tier.value(20, full: 200) {
            var draw = Seeded(seed &+ UInt64(round) << 32)
            var (model, door) = (RecordModel(), try Door())
            var refusals = 0
            for step in 0..<200 {
                let command = model.randomCommand(&draw)
                let place: Comment = "seed \(seed), round \(round), step \(step): \(command.line)"
                let before = door.log.count
                let refusal = try door.send(command.line)
                let expected = Result { try model.apply(command) }
                switch expected {
                case .success(let events):
                    #expect(refusal == nil, place)
                    #expect(door.log.dropFirst(before).map(Self.summary) == events, place)
                case .failure(let error):
                    refusals += 1
                    #expect(refusal.map { .init(code: $0.code, path: $0.path) } == error as? RecordModel.Refusal, place)
                    #expect(door.log.count == before, place)
                }
                if draw.isOneIn(30) { try door.restart(fromSnapshot: draw.isOneIn(2)) }
            }
            #expect(refusals > 10 && refusals < 150)
        }
    }

    /// An event in the form of the model's events: the change and the fields, or only the type of a zone's event.
    private static func summary(_ line: String) -> String {
        if line.contains(#""type":"zone."#) { return line.contains("zone.save") ? "zone.save" : "zone.delete" }
        guard let change = text(in: line, after: #""change":""#, until: "\"") else { return line }
        let member = change == "delete" ? #","before":"# : #""fields":"#
        guard let fields = text(in: line, after: member, until: nil) else { return change }
        return "\(change) \(fields)"
    }

    /// The text after `mark` and before `end`. If `end` is nil, the JSON object after `mark`.
    private static func text(in line: String, after mark: String, until end: Character?) -> String? {
        guard let range = line.firstRange(of: mark) else { return nil }
        let rest = line[range.upperBound...]
        if let end { return String(rest.prefix { $0 != end }) }
        var depth = 0
        let object = rest.prefix { character in
            if character == "{" { depth += 1 }
            if character == "}" { depth -= 1 }
            return depth > 0
        }
        return object + "}"
    }
}
