import JSON
import PipelineKit
import Time

@testable import Ingest

/// An ingest stage with a producer and a log.
struct Door {
    var stage: IngestStage
    private(set) var log: [String] = []
    private(set) var lineNumber: UInt64 = 0
    /// The answer to the last saved subscription.
    private(set) var saved: SavedSubscription?

    init(_ settings: IngestSettings = IngestSettings()) throws {
        let identity = LogIdentity(high: 1, low: 2)
        stage = try IngestStage(
            settings, context: StageContext(log: identity, upstream: identity, upstreamName: "changes"))
    }

    /// A new stage that recalls a log.
    init(recalling log: [String], settings: IngestSettings = IngestSettings()) throws {
        try self.init(settings)
        self.log = log
        for line in log {
            lineNumber += 1
            try Door.read(line, lineNumber) { stage.recall($0, at: Instant(microseconds: 0)) }
        }
    }

    /// Sends one command. Returns its rejection, or nil if the command is accepted.
    @discardableResult
    mutating func send(_ line: String) throws -> Rejection? {
        var out = Outbox()
        lineNumber += 1
        try Door.read(line, lineNumber) { stage.receive($0, at: Instant(microseconds: 0), into: &out) }
        log += out.lines.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        saved = out.takeSaved().first
        return out.takeRejections().first?.rejection
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

/// The example commands of design.md, with members added or changed.
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
