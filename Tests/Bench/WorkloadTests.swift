import JSON
import Testing

@testable import Bench

@Suite struct WorkloadTests {
    @Test func `the same seed makes the same bytes, in blocks of any size`() {
        var whole = Workload(seed: 7, subscriptions: 50, records: 1_000)
        var cut = Workload(seed: 7, subscriptions: 50, records: 1_000)
        #expect(whole.lines(300) == cut.lines(1) + cut.lines(99) + cut.lines(200))
        #expect(whole.watched == cut.watched)
        var other = Workload(seed: 8, subscriptions: 50, records: 1_000)
        #expect(
            other.lines(300)
                != {
                    var again = Workload(seed: 7, subscriptions: 50, records: 1_000)
                    return again.lines(300)
                }())
    }

    @Test func `about one change in four is watched by a subscription`() {
        var workload = Workload(seed: 1, subscriptions: 10_000)
        _ = workload.lines(40_000)
        #expect(workload.made == 40_000)
        #expect((9_800...10_200).contains(workload.watched))
    }

    @Test func `each change is one JSON object of the same length`() throws {
        var workload = Workload(seed: 3, subscriptions: 1_000)
        let lines = workload.lines(500)
        #expect(lines.count == 500 * Workload.lineBytes)
        for line in lines.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
            #expect(line.count == Workload.lineBytes - 1)
            try ParsedJSON.check(Array(line)) { #expect($0["type"]?.equals("record.save") == true) }
        }
    }

    @Test func `a change is watched if its topic, zone and priority match the subscription of its slot`() throws {
        var workload = Workload(seed: 5, subscriptions: 200, records: 2_000)
        for _ in 0..<5_000 {
            let change = workload.change()
            // If the slot's subscription is for a zone, the topic is the number of the zone.
            let hasRightTopic = change.topic == change.slot
            let isZone = Workload.kind(ofSlot: change.slot) == .zone
            #expect(change.isWatched == (hasRightTopic && (isZone || change.priority >= 3)))
        }
    }

    @Test func `the changes of a record are in two zones if its slot has a zone subscription, and otherwise in one`() {
        var workload = Workload(seed: 5, subscriptions: 20, records: 100)
        var recordsAndZones: Set<[Int]> = []
        for _ in 0..<20_000 {
            let change = workload.change()
            let isZone = Workload.kind(ofSlot: change.slot) == .zone
            // If the slot's subscription is for a zone, the topic is the number of the zone in which the change saves
            // the record.
            recordsAndZones.insert([change.record, isZone ? change.topic : 0])
        }
        #expect(recordsAndZones.count == 110)
    }

    @Test func `the set-up registers a device for each user, then saves every subscription`() throws {
        let lines = Workload(seed: 1, subscriptions: 23).setUp(blockLines: 4).flatMap { $0 }
        #expect(lines.count == 5 + 23)
        for (index, line) in lines.enumerated() {
            try ParsedJSON.check(Array(line.utf8)) {
                #expect($0["type"]?.string == (index < 5 ? "device.register" : "subscription.save"))
            }
        }
    }
}

enum ParsedJSON {
    static func check(_ text: [UInt8], _ body: (JSONValue) throws -> Void) throws {
        var parser = JSONParser(limits: JSONLimits(refusesDuplicateKeys: true))
        try text.withUnsafeBytes { try body(try parser.parse($0)) }
    }
}
