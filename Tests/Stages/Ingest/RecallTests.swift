import Ingest
import TestSupport
import Testing

struct RecallTests {
    private static func command(_ draw: inout Seeded) -> String {
        let name = "n\(Int.random(in: 0..<6, using: &draw))"
        let type = Bool.random(using: &draw) ? "Note" : "Task"
        let database = ["private", "public", "shared"].randomElement(using: &draw) ?? ""
        let also =
            ["", #","change":"update""#, #","before":{}"#, #","time":"bad""#, #","time":"2026-01-31T12:00:00Z""#]
            .randomElement(using: &draw) ?? ""
        switch Int.random(in: 0..<10, using: &draw) {
        case 0: return Example.register()
        case 1..<4:
            return Example.delete(name, type: Bool.random(using: &draw) ? type : nil, database: database)
        default:
            let value = Int.random(in: 0..<100, using: &draw)
            return Example.save(
                name, type: type, fields: #"{"v":{"value":\#(value),"type":"INT64"}}"#, database: database, also: also)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a stage that recalls its log continues as if it had never stopped`(seed: UInt64) throws {
        var draw = Seeded(seed)
        var door = try Door()
        var restarted = try Door()
        for _ in 0..<300 {
            let command = RecallTests.command(&draw)
            let (one, other) = (try door.send(command), try restarted.send(command))
            #expect(one == other, "seed \(seed)")
            if Int.random(in: 0..<10, using: &draw) == 0 { restarted = try Door(recalling: restarted.log) }
        }
        #expect(door.log == restarted.log, "seed \(seed)")
    }
}
