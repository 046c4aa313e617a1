import CloudKitModel
import JSON
import Predicates
import TestSupport
import Time

@testable import RecordStore

let testLog = LogIdentity(seed: "record store", name: "changes")

/// A store in a folder of the test, with its writer.
final class TestStore {
    let folder: Folder
    let store: RecordStore
    let writer: RecordWriter
    /// The sequence of the next event.
    private(set) var next: UInt64 = 1

    init(
        _ folder: Folder, _ name: String = "records.sqlite", _ limits: SearchLimits = SearchLimits(),
        answerBytesMax: Int = 16 << 20
    ) throws {
        self.folder = folder
        store = try RecordStore(
            path: folder.file(name), log: testLog, searchLimits: limits, answerBytesMax: answerBytesMax)
        writer = RecordWriter(store)
        next = try store.applied.sequence + 1
    }

    convenience init(_ limits: SearchLimits = SearchLimits()) throws {
        try self.init(Folder(), "records.sqlite", limits)
    }

    /// Applies events as one batch.
    ///
    /// - Parameter milliseconds: The time of the batch, in milliseconds since 1970. If nil, the first event's sequence
    ///   is the time.
    @discardableResult
    func apply(_ lines: [String], milliseconds: Int64? = nil) throws -> [AppliedRequest] {
        guard !lines.isEmpty else { return [] }
        let batch = EventBatch(lines, first: next, milliseconds: milliseconds ?? Int64(next))
        next += UInt64(lines.count)
        return try writer.apply([batch])
    }

    /// Does all maintenance of the writer.
    func finish(rowsMax: Int = 3) throws {
        while try writer.doMaintenance(rowsMax: rowsMax) {}
    }

    var dump: [String] {
        get throws { try store.lines }
    }
}

extension RecordStore {
    var lines: [String] {
        get throws {
            var lines: [String] = []
            try dump { lines.append($0) }
            return lines
        }
    }
}

extension EventBatch {
    init(_ lines: [String], first: UInt64, milliseconds: Int64) {
        self.init(
            firstSequence: first, now: Instant(microseconds: milliseconds * 1_000),
            lines: Array((lines.joined(separator: "\n") + "\n").utf8))
    }
}

extension DatabaseID {
    static let alice = DatabaseID(
        container: "iCloud.com.example.App", environment: .development, scope: .private, owner: "_alice")

    /// The members with which an event names this database.
    var members: String {
        let owner = owner.map { #","owner":"\#($0)""# } ?? ""
        return #""container":"\#(container)","environment":"\#(environment.word)","database":"\#(scope.word)"\#(owner)"#
    }
}

/// Makes events of the changes log.
enum Line {
    static func save(
        _ name: String, _ fields: String = "{}", type: String = "Note", zone: String? = nil,
        in database: DatabaseID = .alice, more: String = "", moreOfRecord: String = ""
    ) -> String {
        let zone = zone.map { #","zoneID":{"zoneName":"\#($0)"}"# } ?? ""
        return #"{"type":"record.save",\#(database.members),"record":{"recordName":"\#(name)","recordType":"\#(type)""#
            + #"\#(zone),"fields":\#(fields)\#(moreOfRecord)},"change":"create"\#(more)}"#
    }

    static func delete(
        _ name: String, zone: String? = nil, in database: DatabaseID = .alice, more: String = ""
    ) -> String {
        let zone = zone.map { #","zoneID":{"zoneName":"\#($0)"}"# } ?? ""
        return #"{"type":"record.delete",\#(database.members),"record":{"recordName":"\#(name)"\#(zone)}"#
            + #","change":"delete"\#(more)}"#
    }

    static func saveZone(_ name: String, in database: DatabaseID = .alice, more: String = "") -> String {
        #"{"type":"zone.save",\#(database.members),"zoneID":{"zoneName":"\#(name)"}\#(more)}"#
    }

    static func deleteZone(_ name: String, in database: DatabaseID = .alice, more: String = "") -> String {
        #"{"type":"zone.delete",\#(database.members),"zoneID":{"zoneName":"\#(name)"}\#(more)}"#
    }
}

/// Calls `body` with the parsed text.
func withJSON<Value>(_ text: String, _ body: (JSONValue) throws -> Value) throws -> Value {
    var parser = JSONParser()
    let bytes = Array(text.utf8)
    return try bytes.withUnsafeBytes { try body(try parser.parse($0)) }
}

extension RecordQuery {
    init(
        _ text: String, in zones: Zones = .one(.defaultZone), limit: Int? = nil, marker: String? = nil
    ) throws {
        self = try withJSON(text) { try RecordQuery($0, in: zones, limit: limit, marker: marker) }
    }
}

extension StoredRecord {
    /// The record as answers show it.
    func json(
        desiredKeys: [String]? = nil, numbersAsStrings: Bool = false,
        assetURL: RecordDictionaries.AssetURL? = nil
    ) -> String {
        var buffer = ByteBuffer()
        var writer = RecordDictionaries(
            desiredKeys: desiredKeys, numbersAsStrings: numbersAsStrings, assetURL: assetURL)
        writer.append(self, to: &buffer)
        return buffer.text
    }

    var fieldsText: String? { fields.map { String(decoding: $0, as: UTF8.self) } }
}
