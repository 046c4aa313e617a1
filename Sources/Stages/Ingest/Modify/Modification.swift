import CloudKitModel
import Events
import JSON
import PipelineKit

/// One `records.modify`: decides on its operations in order, and writes their events.
///
/// The memory changes only when all operations are accepted. ``changes`` lists these changes.
struct Modification {
    /// The command's effect on one record.
    struct Change {
        let address: RecordAddress
        /// The sequence of the event that saves the record; nil if the operation deletes the record.
        let saved: UInt64?
        /// The fingerprint of the record's type; 0 if the record did not exist and the operation names no type.
        let type: UInt32
    }

    let command: JSONValue
    let reader: RecordReader
    private(set) var changes: [Change] = []
    /// The index in ``changes`` of each record.
    private var indexes: [[UInt8]: Int] = [:]
    private var eventBytes = 0

    init(_ command: JSONValue, _ reader: RecordReader) { (self.command, self.reader) = (command, reader) }

    /// Performs the next operation.
    ///
    /// - Parameter sequence: The sequence of the next event.
    mutating func perform(
        _ operation: JSONValue, on memory: RecordMemory, at sequence: UInt64, into out: inout Outbox
    ) throws(ModelError) {
        guard let record = operation[.record], let word = operation[.operationType] else { return }
        let (type, address) = (try OperationType(word), address(zone: record[.zoneID], record[.recordName]))
        let known = memory.find(address)
        try under(.record) { () throws(ModelError) in try check(type, record, known, address, memory) }
        var writer = OperationWriter(command: command, record: record, type: type, isKnown: known != nil)
        if let known, writer.needsContents {
            writer.contents = reader.contents(of: known, at: address, before: sequence, &out)
            guard writer.contents != nil else { throw Modification.unreadable(record) }
        }
        if !type.isDelete || known != nil { try append(writer, into: &out) }
        indexes[address.bytes] = changes.count
        let recordType = record[.recordType].map(memory.key.fingerprint(ofType:)) ?? known?.type ?? 0
        changes.append(Change(address: address, saved: type.isDelete ? nil : sequence, type: recordType))
    }

    private func address(zone: JSONValue?, _ name: JSONValue?) -> RecordAddress {
        RecordAddress(of: command, command[.owner], zone: zone, name: name)
    }

    private func check(
        _ type: OperationType, _ record: JSONValue, _ known: RecordEntry?, _ address: RecordAddress,
        _ memory: RecordMemory
    ) throws(ModelError) {
        guard indexes[address.bytes] == nil else { throw Modification.repeated(record) }
        guard memory.zoneExists(for: address) else { throw Modification.missingZone(record) }
        try OperationRules(type: type, record: record, known: known, key: memory.key)()
        guard !type.isDelete else { return }
        let references = ReferenceCheck(record: record) { zone, name in
            exists(self.address(zone: zone, name), memory)
        }
        try references()
    }

    /// Whether a record exists after the operations so far.
    private func exists(_ address: RecordAddress, _ memory: RecordMemory) -> Bool {
        if let index = indexes[address.bytes] { return changes[index].saved != nil }
        return memory.find(address) != nil
    }

    private mutating func append(_ writer: OperationWriter, into out: inout Outbox) throws(ModelError) {
        let start = out.lines.count
        var recordBytes = 0
        out.append { recordBytes = writer.write(into: &$0) }
        eventBytes += out.lines.count - start
        guard recordBytes <= CloudKitLimits.recordBytesMax else { throw Modification.tooLarge(recordBytes) }
        guard eventBytes <= CloudKitLimits.modifiedBytesMax else { throw Modification.tooMuch }
    }
}

extension Modification {
    private static func name(_ record: JSONValue) -> String { "record \"\(record[.recordName]?.string ?? "")\"" }

    private static func repeated(_ record: JSONValue) -> ModelError {
        ModelError(
            "record.repeated", at: "recordName",
            "two operations name \(name(record)): send one operation for each record")
    }

    private static func missingZone(_ record: JSONValue) -> ModelError {
        ModelError(
            "zone.missing", at: "zoneID",
            "zone \"\(record[.zoneID]?[.zoneName]?.string ?? "")\" does not exist: save it with zone.save first")
    }

    private static func unreadable(_ record: JSONValue) -> ModelError {
        ModelError(
            "record.unreadable", at: "record.recordName",
            "the fields of \(name(record)) cannot be read from the log: replace the record with forceReplace")
    }

    private static func tooLarge(_ bytes: Int) -> ModelError {
        ModelError(
            "record.too_large", at: "record",
            "a record has at most \(CloudKitLimits.recordBytesMax) bytes, not \(bytes): shorten or remove fields")
    }

    private static var tooMuch: ModelError {
        ModelError(
            "operations.too_large",
            "the events of one command have at most \(CloudKitLimits.modifiedBytesMax) bytes: send the operations from "
                + "this one on in a second command")
    }
}
