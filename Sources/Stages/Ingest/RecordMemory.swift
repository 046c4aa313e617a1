import CloudKitModel
import Events
import JSON

/// The type and fields of each live record: they distinguish an update from a create and describe a deleted record.
///
/// As in CloudKit, container, environment, database, owner, zone and name identify a record. If a record with another
/// type is saved under the same name, it is a new record.
struct RecordMemory {
    typealias Part = [RecordKey: KnownRecord]

    /// Many small tables instead of a large one: a table that grows moves all its entries, which takes a quarter of a second
    /// for a million records.
    var parts = [Part](repeating: [:], count: partCount)
    private var keyBytes: [UInt8] = []

    static let partCount = 256

    var count: Int { parts.reduce(0) { $0 + $1.count } }

    /// Remembers the record of a checked `record.save`.
    ///
    /// - Parameter owner: The owner of the database.
    /// - Returns: Whether the memory had a record of this name and type.
    @inline(__always)
    mutating func save(_ command: JSONValue, of owner: JSONValue?) -> Bool {
        guard let record = command[.record], let recordType = record[.recordType] else { return false }
        let known = KnownRecord(recordType: recordType, fields: record[.fields])
        let key = key(of: command, owner, record)
        guard let last = parts[key.part].updateValue(known, forKey: key) else { return false }
        return last.isOfType(recordType)
    }

    /// Forgets the record of a checked `record.delete`.
    ///
    /// - Returns: The forgotten record; nil if there was none, or if the command names another type.
    mutating func delete(_ command: JSONValue, of owner: JSONValue?) -> KnownRecord? {
        guard let record = command[.record] else { return nil }
        let key = key(of: command, owner, record)
        guard let index = parts[key.part].index(forKey: key) else { return nil }
        let last = parts[key.part][index].value
        if let type = record[.recordType] ?? command[.recordType], !last.isOfType(type) { return nil }
        parts[key.part].remove(at: index)
        return last
    }

    /// A zero byte ends each name: names have no control characters.
    @inline(__always)
    private mutating func key(of command: JSONValue, _ owner: JSONValue?, _ record: JSONValue) -> RecordKey {
        keyBytes.removeAll(keepingCapacity: true)
        append(command[.container])
        append(command[.environment])
        append(command[.database])
        let isPublic = command[.database]?.equals("public") ?? false
        append(isPublic ? nil : owner)
        appendZone(record[.zoneID], isShared: command[.database]?.equals("shared") ?? false)
        append(record[.recordName])
        return RecordKey(bytes: keyBytes)
    }

    /// Only shared databases contain zones of several owners.
    @inline(__always)
    private mutating func appendZone(_ zone: JSONValue?, isShared: Bool) {
        let zoneName = zone?[.zoneName]
        append(zoneName?.equals(ZoneID.defaultZone) == true ? nil : zoneName)
        if isShared { append(zone?[.ownerRecordName] ?? zone?["ownerName"]) }
    }

    @inline(__always)
    private mutating func append(_ name: JSONValue?) {
        if let name { _ = name.withText { keyBytes.append(contentsOf: $0) } }
        keyBytes.append(0)
    }
}

/// A record's identity as bytes, hashed once.
struct RecordKey: Hashable {
    let bytes: [UInt8]
    private let hash: Int

    @inline(__always)
    init(bytes: [UInt8]) {
        self.bytes = bytes
        hash = bytes.withUnsafeBytes { ByteHash.of($0) }
    }

    @inline(__always)
    static func == (left: RecordKey, right: RecordKey) -> Bool {
        left.hash == right.hash
            && left.bytes.withUnsafeBytes { left in right.bytes.withUnsafeBytes { left.isSame(as: $0) } }
    }

    @inline(__always)
    func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// The index in ``RecordMemory/parts``.
    @inline(__always)
    var part: Int { hash & (RecordMemory.partCount - 1) }
}

/// A record's type and fields in one array.
struct KnownRecord {
    private let bytes: [UInt8]
    private let typeCount: Int

    @inline(__always)
    init(recordType: JSONValue, fields: JSONValue?) {
        let noFields: StaticString = "{}"
        let fields = fields?.raw ?? UnsafeRawBufferPointer(start: noFields.utf8Start, count: noFields.utf8CodeUnitCount)
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        self =
            recordType.withText { KnownRecord(recordType: $0, fields: fields) }
            ?? KnownRecord(recordType: empty, fields: empty)
    }

    @inline(__always)
    init(recordType: UnsafeRawBufferPointer, fields: UnsafeRawBufferPointer) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(recordType.count + fields.count)
        bytes.append(contentsOf: recordType)
        bytes.append(contentsOf: fields)
        self.bytes = bytes
        typeCount = recordType.count
    }

    var byteCount: Int { bytes.count }

    @inline(__always)
    func isOfType(_ type: JSONValue) -> Bool {
        withRecordType { known in type.withText { known.isSame(as: $0) } ?? false }
    }

    @inline(__always)
    func withRecordType<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<typeCount])) }
    }

    @inline(__always)
    func withFields<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[typeCount...])) }
    }
}
