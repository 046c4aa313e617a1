import JSON
import PipelineKit
import Time

@testable import Ingest

/// An ingest stage with its log, without a socket. A test sends commands to it, as a producer does.
struct Door {
    var stage: IngestStage
    private(set) var log: [String] = []
    private(set) var lineNumber: UInt64 = 0
    /// The report about the subscription that the latest command saved; nil if that command saved no subscription.
    private(set) var saved: SavedSubscription?
    private let settings: IngestSettings
    private let past = PastInMemory()

    init(_ settings: IngestSettings = IngestSettings()) throws {
        self.settings = settings
        stage = try IngestStage(settings, context: .ingest(past))
    }

    /// A new stage that recalls a log.
    init(recalling log: [String], settings: IngestSettings = IngestSettings()) throws {
        try self.init(settings)
        self.log = log
        for line in log {
            lineNumber += 1
            try Door.read(line, lineNumber) { stage.recall($0, at: Instant(microseconds: 0)) }
        }
        keep(log, after: 0)
    }

    /// Sends one command. Returns its rejection, or nil if the command is accepted.
    @discardableResult
    mutating func send(_ line: String) throws -> Rejection? {
        var out = Outbox()
        lineNumber += 1
        try Door.read(line, lineNumber) { stage.receive($0, at: Instant(microseconds: 0), into: &out) }
        past.keep(out, after: log.count)
        log += out.lines.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        saved = out.takeSaved().first
        return out.takeRejections().first?.rejection
    }

    private func keep(_ lines: [String], after count: Int) {
        var out = Outbox()
        for line in lines { out.append { $0.append(raw: line) } }
        past.keep(out, after: count)
    }

    /// Replaces the stage by a new stage, which gets its state from a snapshot or from the log.
    mutating func restart(fromSnapshot: Bool) throws {
        guard fromSnapshot else {
            self = try Door(recalling: log, settings: settings)
            return
        }
        var writer = SnapshotWriter()
        stage.snapshot(into: &writer)
        var reader = SnapshotReader(writer.bytes)
        stage = try IngestStage(settings, context: .ingest(past))
        try stage.restore(from: &reader)
    }

    private static func read(_ line: String, _ sequence: UInt64, _ body: (borrowing InputEvent) -> Void) throws {
        var line = line
        try line.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            var parser = JSONParser(limits: JSONLimits(refusesDuplicateKeys: true))
            body(InputEvent(sequence: sequence, json: try parser.parse(bytes), line: bytes))
        }
    }
}

extension StageContext {
    static func ingest(_ past: PastInMemory) -> StageContext {
        let identity = LogIdentity(high: 1, low: 2)
        var context = StageContext(log: identity, upstream: identity, upstreamName: "changes")
        context.past = past
        return context
    }
}

/// Example commands. The parameters add or change members.
enum Example {
    static let place = #""container":"iCloud.com.example.Notes","environment":"development""#
    static let title = #"{"title":{"value":"Hi","type":"STRING"}}"#

    static func register(_ members: String = #""transport":"apns","token":"6a0f","topic":"com.example.Notes""#)
        -> String
    {
        #"{"type":"device.register",\#(place),"user":"_alice","device":"alice-phone",\#(members)}"#
    }

    static func redrive() -> String {
        #"{"type":"push.redrive",\#(place),"user":"_alice","device":"alice-phone","#
            + #""redriveOf":{"log":"pushes","sequence":3},"push":{"type":"push","notificationID":"n-1",\#(place),"#
            + #""user":"_alice","subscriptionID":"feed","headers":{"apns-push-type":"alert","apns-priority":"10"},"#
            + #""payload":{"aps":{"alert":"Hi"}},"causes":[{"log":"changes","sequence":17}]}}"#
    }

    static func subscribe(_ subscription: String, database: String = "private") -> String {
        #"{"type":"subscription.save",\#(place),"database":"\#(database)","user":"_alice","subscription":\#(subscription)}"#
    }

    static func query(_ query: String) -> String {
        subscribe(#"{"subscriptionID":"s","subscriptionType":"query","firesOn":["create"],"query":\#(query)}"#)
    }

    static func save(
        _ name: String = "n1", type: String = "Note", fields: String = title, zone: String = "Notes",
        database: String = "private", owner: String = "_alice", also: String = ""
    ) -> String {
        #"{"type":"record.save",\#(place),"database":"\#(database)","owner":"\#(owner)","#
            + #""record":{"recordName":"\#(name)","recordType":"\#(type)","zoneID":{"zoneName":"\#(zone)"},"#
            + #""fields":\#(fields)}\#(also)}"#
    }

    static func zone(_ command: String, _ zone: String, owner: String = "_alice") -> String {
        #"{"type":"zone.\#(command)",\#(place),"database":"private","owner":"\#(owner)","#
            + #""zoneID":{"zoneName":"\#(zone)"}}"#
    }

    static func modify(_ operations: [String], also: String = "") -> String {
        #"{"type":"records.modify",\#(place),"database":"private","owner":"_alice"\#(also),"#
            + #""operations":[\#(operations.joined(separator: ","))]}"#
    }

    static func operation(
        _ type: String, _ name: String = "n1", type recordType: String? = "Note", tag: String? = nil,
        zone: String? = "Notes", fields: String? = nil
    ) -> String {
        let members = [
            #""recordName":"\#(name)""#, recordType.map { #""recordType":"\#($0)""# },
            tag.map { #""recordChangeTag":"\#($0)""# }, zone.map { #""zoneID":{"zoneName":"\#($0)"}"# },
            fields.map { #""fields":\#($0)"# },
        ]
        let record = members.compactMap(\.self).joined(separator: ",")
        return #"{"operationType":"\#(type)","record":{\#(record)}}"#
    }

    static func delete(
        _ name: String = "n1", type: String? = "Note", zone: String = "Notes", database: String = "private",
        owner: String = "_alice", also: String = ""
    ) -> String {
        let type = type.map { #""recordType":"\#($0)","# } ?? ""
        return #"{"type":"record.delete",\#(place),"database":"\#(database)","owner":"\#(owner)","#
            + #""record":{"recordName":"\#(name)",\#(type)"zoneID":{"zoneName":"\#(zone)"}}\#(also)}"#
    }
}

extension String {
    /// The command with more members.
    func adding(_ members: String) -> String { dropLast() + members + "}" }
}
