import Foundation
import JSON
import PipelineKit
import PipelineRuntime
import StageTool
import TestSupport
import Testing
import Time

@testable import Inspect

@Suite struct DeadLettersTests {
    // MARK: Dead letters among outcomes

    @Test(arguments: OutcomeCode.allCases)
    func `only the codes failed, unregistered, expired and unknown_transport make a dead letter`(code: OutcomeCode)
        throws
    {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        logs.outcome(code.rawValue, logs.push())
        try logs.write()
        let isLetter = [.failed, .unregistered, .expired, .unknownTransport].contains(code)
        #expect(try logs.find().letters.map(\.letter.code) == (isLetter ? [code.rawValue] : []))
        #expect(code.isDeadLetter == isLetter)
    }

    @Test func `a push that waits is not a dead letter`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        logs.outcome("deferred", logs.push())
        try logs.write()
        #expect(try logs.find().verdicts == [])
    }

    @Test func `a dead letter combines members of the outcome, of the push and of the device's registration`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1", topic: "com.b")
        logs.outcome("failed", logs.push(change: 7), reason: "BadTopic", status: 400, change: 7)
        try logs.write()
        let letter = try #require(try logs.find().letters.first?.letter)
        #expect(letter.place == EventPlace(log: "outcomes", sequence: 1) && letter.time == DeadLetterLogs.time(1))
        #expect(letter.source == EventPlace(log: "pushes", sequence: 2) && letter.change == 7)
        #expect((letter.stage, letter.code, letter.status, letter.reason) == ("deliver", "failed", 400, "BadTopic"))
        #expect((letter.container, letter.environment, letter.user) == ("iCloud.Notes", "development", "_alice"))
        #expect((letter.device, letter.transport, letter.topic) == ("mac", "apns", "com.b"))
    }

    @Test func `with a limit, the JSON has only the newest dead letters, from whichever stage`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        logs.outcome("failed", logs.push(), "mac")
        for sequence in 1...2 {
            logs.add("changes", DeadLetterLogs.save("odd"))
            logs.addDeadLetter(of: DeadLetterLogs.save("odd"), at: sequence)
        }
        try logs.write()
        var lines: [String] = []
        try DeadLetterListText(found: try logs.find(), limit: 1).json { lines.append($0) }
        #expect(lines.count == 2)
        #expect(lines.first?.contains(#""log":"matches.dead-letters","sequence":2"#) == true, "\(lines)")
    }

    // MARK: Obsolete letters

    @Test func `a push that has expired at the given time is obsolete`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        logs.outcome("failed", logs.push(expiration: 100))
        try logs.write()
        #expect(try logs.find(now: 99).verdicts == ["outcomes:1"])
        #expect(try logs.find(now: 100).verdicts == ["outcomes:1 expired"])
        #expect(try logs.find(now: 100, including: [.expired]).verdicts == ["outcomes:1"])
    }

    @Test func `an expired push is redriven with apns-expiration 0, for one attempt`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        logs.outcome("failed", logs.push(collapseID: "c", expiration: 100))
        try logs.write()
        let letter = try #require(try logs.find(now: 100, including: [.expired]).letters.first?.letter)
        func line(at seconds: Int64) throws -> String {
            let commands = RedriveCommands(
                folder: logs.path, now: Instant(microseconds: (1_767_225_600 + seconds) * 1_000_000))
            return String(decoding: try commands.command(letter), as: UTF8.self)
        }
        #expect(try line(at: 99).contains(#""apns-expiration":"1767225700""#))
        #expect(
            try line(at: 100)
                == line(at: 99).replacing(#""apns-expiration":"1767225700""#, with: #""apns-expiration":"0""#))
    }

    @Test func `a push is obsolete if a newer push with the same collapse ID was accepted or waits`() throws {
        let logs = try DeadLetterLogs()
        for device in ["mac", "pad", "tv"] { logs.register(device, token: device) }
        let old = logs.push(collapseID: "c")
        for device in ["mac", "pad", "tv"] { logs.outcome("failed", old, device) }
        let other = logs.push(collapseID: "d")
        let newer = logs.push(collapseID: "c")
        for device in ["mac", "pad", "tv"] { logs.outcome("accepted", other, device) }
        logs.outcome("accepted", newer, "mac")
        logs.outcome("held", newer, "pad")
        try logs.write()
        #expect(
            try logs.find().verdicts == [
                "outcomes:1 superseded pushes:\(newer)", "outcomes:2 superseded pushes:\(newer)", "outcomes:3",
            ])
        #expect(try logs.find(including: [.superseded]).verdicts == ["outcomes:1", "outcomes:2", "outcomes:3"])
    }

    @Test func `of several letters with one collapse ID, the newest is redriven`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        let pushes = (1...3).map { _ in logs.push(collapseID: "c") }
        for push in pushes { logs.outcome("failed", push) }
        try logs.write()
        let verdicts = [
            "outcomes:1 superseded pushes:\(pushes[2])", "outcomes:2 superseded pushes:\(pushes[2])", "outcomes:3",
        ]
        #expect(try logs.find().verdicts == verdicts)
    }

    @Test func `a newer push that failed is not obsolete if an older push is accepted after it`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        let (old, newer) = (logs.push(collapseID: "c"), logs.push(collapseID: "c"))
        logs.outcome("failed", newer)
        logs.outcome("accepted", old)
        try logs.write()
        #expect(try logs.find().verdicts == ["outcomes:1"])
    }

    @Test func `a redrive of an older push does not make a newer push obsolete`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        let (old, newer) = (logs.push(collapseID: "c"), logs.push(collapseID: "c"))
        logs.outcome("failed", old)
        logs.outcome("failed", newer)
        let redrive = DeadLetterLogs.redrive(of: old, collapseID: "c")
        logs.add("changes", redrive)
        logs.outcome("accepted", logs.add("pushes", redrive))
        try logs.write()
        #expect(try logs.find().verdicts == ["outcomes:1 redriven changes:2", "outcomes:2"])
    }

    @Test func `a redrive of a redrive of an older push does not make a newer push obsolete`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        let (old, newer) = (logs.push(collapseID: "c"), logs.push(collapseID: "c"))
        logs.outcome("failed", old)
        logs.outcome("failed", newer)
        var push = old
        for outcome in ["failed", "accepted"] {
            let redrive = DeadLetterLogs.redrive(of: push, collapseID: "c")
            logs.add("changes", redrive)
            push = logs.add("pushes", redrive)
            logs.outcome(outcome, push)
        }
        try logs.write()
        let verdicts = ["outcomes:1 redriven changes:2", "outcomes:2", "outcomes:3 redriven changes:3"]
        #expect(try logs.find().verdicts == verdicts)
    }

    @Test func `a redrive leaves out a badge that a newer push has set, and a push with only this badge is obsolete`()
        throws
    {
        let logs = try DeadLetterLogs()
        for device in ["mac", "pad"] { logs.register(device, token: device) }
        let push = DeadLetterLogs.push(to: "_alice", nil, nil, 1, "iCloud.Notes")
        let aps = #"{"badge":1,"alert":"Hi"}"#
        let badged = push.replacing(#"{"alert":"Hi"}"#, with: aps).replacing(
            #","causes""#, with: #","payloadByTopic":{"com.a":{"aps":\#(aps)},"com.b":{"aps":{}}},"causes""#)
        let (old, onlyBadge) = (
            logs.add("pushes", badged), logs.add("pushes", badged.replacing(#","alert":"Hi""#, with: ""))
        )
        for device in ["mac", "pad"] { logs.outcome("failed", old, device) }
        logs.outcome("failed", onlyBadge, "mac")
        let newer = logs.add("pushes", badged)
        logs.outcome("accepted", newer, "mac")
        try logs.write()
        let found = try logs.find()
        #expect(found.verdicts == ["outcomes:1", "outcomes:2", "outcomes:3 superseded pushes:\(newer)"])
        let commands = RedriveCommands(folder: logs.path, now: .epoch)
        let lines = try found.letters.map { String(decoding: try commands.command($0.letter), as: UTF8.self) }
        #expect(
            lines[0].contains(
                #""payload":{"aps":{"alert":"Hi"}},"payloadByTopic":{"com.a":{"aps":{"alert":"Hi"}},"com.b":{"aps":{}}}"#
            ))
        #expect(
            lines[1].contains(
                #""payload":{"aps":{"badge":1,"alert":"Hi"}},"payloadByTopic":{"com.a":{"aps":{"badge":1,"#))
        #expect(try commands.content(found.letters[0].letter) == "\"Hi\"")
    }

    @Test func `the origin of a push and the members that a plugin added are not sent again`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        let push = DeadLetterLogs.push(to: "_alice", nil, nil, 1, "iCloud.Notes")
        let odd = push.replacing(#","headers""#, with: #","extra":[1],"origin":{"user":"_alice"},"headers""#)
        logs.outcome("failed", logs.add("pushes", odd))
        try logs.write()
        let letter = try #require(try logs.find().letters.first?.letter)
        let line = String(decoding: try RedriveCommands(folder: logs.path, now: .epoch).command(letter), as: UTF8.self)
        #expect(
            line == #"{"type":"push.redrive",\#(DeadLetterLogs.place),"user":"_alice","device":"mac","#
                + #""redriveOf":{"log":"pushes","sequence":2},"push":\#(push)}"#)
    }

    @Test
    func `a redrive too long for the door leaves out the member 'unpruned', or fails if it is still too long`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        let push = DeadLetterLogs.push(to: "_alice", nil, nil, 1, "iCloud.Notes")
        let long = String(repeating: "x", count: 1_000_000)
        let unpruned = push.replacing(#","causes""#, with: #","unpruned":{"a":"\#(long)"},"causes""#)
        let payload = push.replacing(#""alert":"Hi""#, with: #""alert":"\#(long)""#)
        for push in [unpruned, payload] { logs.outcome("failed", logs.add("pushes", push)) }
        try logs.write()
        let commands = RedriveCommands(folder: logs.path, now: .epoch)
        let letters = try logs.find().letters.map(\.letter)
        #expect(String(decoding: try commands.command(letters[0]), as: UTF8.self).hasSuffix(#""push":\#(push)}"#))
        #expect(throws: RedriveCommands.ImpossibleCommand.self) { try commands.command(letters[1]) }
    }

    @Test func `the command of a redrive may have the maximum length of the door, but no more`() throws {
        func command(alert: String) throws -> [UInt8] {
            let logs = try DeadLetterLogs()
            logs.register("mac", token: "1")
            let push = DeadLetterLogs.push(to: "_alice", nil, nil, 1, "iCloud.Notes")
            logs.outcome("failed", logs.add("pushes", push.replacing("Hi", with: alert)))
            try logs.write()
            return try RedriveCommands(folder: logs.path, now: .epoch).command(logs.find().letters[0].letter)
        }
        let longestAlert = DoorLimits.lineBytesMax - (try command(alert: "").count)
        #expect(try command(alert: String(repeating: "x", count: longestAlert)).count == DoorLimits.lineBytesMax)
        #expect(throws: RedriveCommands.ImpossibleCommand.self) {
            try command(alert: String(repeating: "x", count: longestAlert + 1))
        }
    }

    @Test func `a reader leaves out the letters beyond its maximum, and the result says so`() throws {
        let logs = try DeadLetterLogs.fourLetters()
        let recorded = try RecordedLogs(place: logs.path)
        var reader = DeadLetterReader(logs: recorded)
        #expect(try reader.read(where: { _ in true }, { _ in }).isCut == false)
        reader.lettersMax = 2
        let found = try reader.read(where: { _ in true }, { _ in })
        #expect(found.isCut && found.letters.count == 2)
    }

    @Test(arguments: [(1, ["outcomes:1"]), (2, ["outcomes:1", "outcomes:3"]), (9, ["outcomes:1", "outcomes:3"])])
    func `at most as many letters as the limit are redriven, the oldest first`(limit: Int, expected: [String]) throws {
        let logs = try DeadLetterLogs()
        for device in ["mac", "pad", "tv"] { logs.register(device, token: device) }
        let push = logs.push()
        for device in ["mac", "pad", "tv"] { logs.outcome("failed", push, device) }
        logs.add("pushes", DeadLetterLogs.unregister("pad"))
        try logs.write()
        let plan = RedrivePlan(try logs.find(), limit: limit)
        #expect(plan.selected.map(\.letter.place.description) == expected && plan.redrivableCount == 2)
        #expect(plan.apps.map(\.devices.count) == [expected.count] && plan.apps.map(\.users) == [1])
        #expect(plan.obsolete == [.unregistered: 1])
    }

    @Test(arguments: [([], "run the same command again"), ([Obsolescence.redriven], "select the others with filters")])
    func `after a limited redrive, the advice is to run it again, or to use filters if redriven letters were asked for`(
        included: [Obsolescence], advice: String
    ) throws {
        let logs = try DeadLetterLogs()
        for device in ["mac", "pad"] { logs.register(device, token: device) }
        let push = logs.push()
        for device in ["mac", "pad"] { logs.outcome("failed", push, device) }
        try logs.write()
        var text = RedriveText(plan: RedrivePlan(try logs.find(including: Set(included)), limit: 1)) { _ in nil }
        text.sent = RedriveTotals()
        #expect(text.verdict.count == 1 && text.verdict[0].contains("; 1 more can be redriven: "))
        #expect(text.verdict[0].hasSuffix(advice), "\(text.verdict)")
    }

    @Test func `a device that is gone or has changed makes a letter obsolete`() throws {
        let logs = try DeadLetterLogs()
        for (number, device) in ["gone", "retired", "back", "robbed", "anew", "same"].enumerated() {
            logs.register(device, token: "\(number)")
        }
        let push = logs.push()
        for device in ["anew", "back", "gone", "retired", "robbed", "same"] { logs.outcome("failed", push, device) }
        logs.add("pushes", DeadLetterLogs.unregister("gone"))
        for device in ["back", "retired"] { logs.add("outcomes", DeadLetterLogs.retired(device, push)) }
        // The two devices were retired by events 7 and 8 of the outcomes log. `write` gives event N the cursor N, so
        // deliver had then read event 7 or 8 of the pushes log. The registrations below begin at event 10 of that log.
        // So they are newer than the retirements. Of the two devices, only `back` registers again.
        while logs.events["pushes"]?.count ?? 0 < 9 { logs.push(to: "_carol") }
        logs.register("back", token: "2")
        logs.register("thief", token: "3")
        logs.register("anew", token: "new")
        logs.register("same", token: "5")
        try logs.write()
        #expect(
            try logs.find().verdicts == [
                "outcomes:1 device.registered_anew", "outcomes:2", "outcomes:3 device.unregistered",
                "outcomes:4 device.retired", "outcomes:5 device.replaced", "outcomes:6",
            ])
        #expect(try logs.find(including: [.registeredAnew]).verdicts.first == "outcomes:1")
    }

    @Test func `a redriven letter is obsolete, and the failed redrive is a letter of its own`() throws {
        let logs = try DeadLetterLogs()
        for device in ["mac", "pad"] { logs.register(device, token: device) }
        let push = logs.push()
        for device in ["mac", "pad"] { logs.outcome("failed", push, device) }
        logs.add("changes", DeadLetterLogs.redrive(of: push, collapseID: nil))
        try logs.write()
        // Ingest has written the redrive, but deliver has not read that far.
        #expect(try logs.find().verdicts == ["outcomes:1 redriven changes:3", "outcomes:2"])
        #expect(try logs.find(including: [.redriven]).verdicts == ["outcomes:1", "outcomes:2"])

        let again = try DeadLetterLogs()
        again.register("mac", token: "1")
        let old = again.push()
        again.outcome("failed", old)
        let redrive = DeadLetterLogs.redrive(of: old, collapseID: nil)
        again.add("changes", redrive)
        again.outcome("failed", again.add("pushes", redrive))
        try again.write()
        #expect(try again.find().verdicts == ["outcomes:1 redriven changes:2", "outcomes:2"])
    }

    @Test func `Codes.md lists exactly the reasons for being obsolete, first those that --include overrides`() throws {
        let rows = Obsolescence.allCases.map { ["`\($0.rawValue)`", $0.meaning] }
        try ReferencePage("Codes.md").expect(rows: rows, under: "Obsolete dead letters")
        #expect(Array(Obsolescence.allCases.prefix(4)) == Obsolescence.includable)
    }

    // MARK: Rejected events

    @Test func `a rejected command can be redriven unless a newer command for its record came`() throws {
        let logs = try DeadLetterLogs()
        for name in ["old", "lone", "twice"] { logs.add("changes", DeadLetterLogs.save(name)) }
        for (index, name) in ["old", "lone", "twice"].enumerated() {
            logs.addDeadLetter(of: DeadLetterLogs.save(name), at: index + 1)
        }
        logs.add("changes", DeadLetterLogs.save("old", title: "New"))
        // Ingest writes the members in another order. This command is at second 5, after the letter.
        let again = DeadLetterLogs.save("twice").replacing(#""type":"record.save","#, with: "").dropLast()
        logs.add("changes", again + #","type":"record.save"}"#)
        try logs.write()
        #expect(
            try logs.find().verdicts == [
                "matches.dead-letters:1 superseded changes:4", "matches.dead-letters:2",
                "matches.dead-letters:3 redriven changes:5",
            ])
    }

    @Test func `letters that cannot be redriven are listed with the reason`() throws {
        let logs = try DeadLetterLogs()
        logs.add("changes", DeadLetterLogs.save("n"))
        for event in ["{", "7", "[]", #"{"a":1}"#, #"{"type":"match","change":1}"#, #"{"type":"pager.set"}"#] {
            logs.addDeadLetter(of: event, by: "payload", in: "pushes", from: "notifications")
        }
        logs.addDeadLetter(
            of: DeadLetterLogs.redrive(of: 1, collapseID: nil), by: "deliver", in: "outcomes", from: "pushes")
        try logs.write()
        #expect(
            try logs.find().verdicts == [
                "pushes.dead-letters:1 impossible: its event is not a JSON object",
                "pushes.dead-letters:2 impossible: its event is not a JSON object",
                "pushes.dead-letters:3 impossible: its event is not a JSON object",
                "pushes.dead-letters:4 impossible: its event has no type",
                "pushes.dead-letters:5 impossible: only a stage makes a match: send again the change that led to it",
                "pushes.dead-letters:6 impossible: its event (pager.set) is not a command about a record, "
                    + "subscription, device or badge",
                "outcomes.dead-letters:1 impossible: it is a redrive itself: redrive the original push",
            ])
    }

    @Test(arguments: [
        #"{"type":"outcome","outcome":"failed"}"#,
        #"{"type":"outcome","outcome":"failed","push":"1","user":7,"device":[],"causes":{}}"#,
        #"{"type":"outcome","outcome":"failed","push":-1,"user":"_alice","device":"mac","causes":[1,{"sequence":"x"}]}"#,
        #"{"type":"outcome","outcome":"failed","push":999,"user":"_alice","device":"mac","status":"no"}"#,
    ])
    func `a failed outcome with wrong members is listed as a letter that cannot be redriven`(line: String) throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        logs.push()
        logs.add("outcomes", line)
        logs.add("outcomes", #"{"type":"outcome"}"#)
        logs.add("outcomes", #"{"type":7}"#)
        try logs.write()
        let found = try logs.find()
        let verdicts = found.verdicts
        #expect(verdicts.count == 1 && verdicts[0].hasPrefix("outcomes:1 impossible: "), "\(verdicts)")
        #expect(DeadLetterListText(found: found, limit: nil).lines.count == 6)
    }

    @Test func `a letter for an unknown transport can be redriven once the pipeline has the transport`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        logs.outcome("unknown_transport", logs.push())
        try logs.write()
        func verdicts(_ transports: Set<String>) throws -> [String] {
            var eligibility = RedriveEligibility(now: DeadLetterLogs.time(0))
            eligibility.transports = ["deliver": transports]
            return try DeadLetters(RecordedLogs(place: logs.path), DeadLetterFilter(), eligibility).verdicts
        }
        let missing = "impossible: deliver has no transport apns: add it to the pipeline file"
        #expect(try verdicts(["hook"]) == ["outcomes:1 \(missing)"])
        #expect(try verdicts(["apns"]) == ["outcomes:1"])
    }

    @Test func `a letter whose push is no longer in the log cannot be redriven`() throws {
        let logs = try DeadLetterLogs()
        logs.register("mac", token: "1")
        logs.outcome("failed", 40)
        try logs.write()
        #expect(
            try logs.find().verdicts == [
                "outcomes:1 impossible: pushes:40 is missing: retention removed it, or its whole log is missing"
            ])
    }
}

extension DeadLetterLogs {
    /// Logs with a dead letter of match and three of deliver.
    static func fourLetters() throws -> DeadLetterLogs {
        let logs = try DeadLetterLogs()
        for _ in 1...5 { logs.add("changes", DeadLetterLogs.save("n")) }
        logs.register("mac", token: "1")
        logs.register("pad", token: "2", topic: "com.b")
        logs.register("pad", token: "3", of: "_bob")
        let first = logs.push(change: 1)
        logs.outcome("failed", first, "mac", reason: "BadTopic", status: 400, change: 1)
        logs.outcome("expired", first, "pad", change: 1)
        logs.outcome(
            "failed", logs.push(to: "_bob", change: 4, container: "iCloud.Other"), "pad", of: "_bob", change: 4)
        logs.addDeadLetter(of: DeadLetterLogs.save("odd"), at: 5)
        try logs.write(segmentBytesMax: 1)
        return logs
    }

    static func save(_ name: String, title: String = "Hi") -> String {
        #"{"type":"record.save",\#(place),"database":"private","owner":"_alice","record":{"recordName":"\#(name)","#
            + #""recordType":"Note","fields":{"title":{"value":"\#(title)"}}},"change":"create"}"#
    }

    static func unregister(_ device: String) -> String {
        #"{"type":"device.unregister",\#(place),"user":"_alice","device":"\#(device)"}"#
    }

    static func retired(_ device: String, _ push: Int) -> String {
        #"{"type":"device.retired",\#(place),"user":"_alice","device":"\#(device)","transport":"apns","push":\#(push)}"#
    }

    static func redrive(of push: Int, collapseID: String?, to device: String = "mac") -> String {
        #"{"type":"push.redrive",\#(place),"user":"_alice","device":"\#(device)","#
            + #""redriveOf":{"log":"pushes","sequence":\#(push)},"#
            + #""push":\#(self.push(to: "_alice", collapseID, nil, 1, "iCloud.Notes"))}"#
    }
}
