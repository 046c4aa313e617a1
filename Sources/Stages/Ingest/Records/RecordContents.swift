import Events
import JSON
import PipelineKit

/// A record's names, type, fields and parent, as its newest save wrote them.
struct RecordContents {
    let address: RecordAddress
    let recordType: [UInt8]
    let fields: [UInt8]
    /// The JSON of the member `parent`; nil if the record has no parent.
    let parent: [UInt8]?

    /// - Parameter line: A `record.save` of ingest's own log.
    /// - Returns: Nil if the line contains no record with a type.
    init?(_ line: UnsafeRawBufferPointer) {
        var parser = JSONParser()
        do throws(JSONError) {
            let event = try parser.parse(line)
            guard let record = event[.record], let type = record[.recordType]?.withText({ Array($0) }) else {
                return nil
            }
            address = RecordAddress(of: event, event[.owner], zone: record[.zoneID], name: record[.recordName])
            recordType = type
            fields = record[.fields].map { Array($0.raw) } ?? Array("{}".utf8)
            parent = record[OperationWriter.parent].map { Array($0.raw) }
        } catch { return nil }
    }
}

/// Reads the contents of records from ingest's own log, which the host provides.
struct RecordReader {
    let pastEvents: (any PastEvents)?

    /// - Parameters:
    ///   - next: The sequence of the log's next event.
    ///   - out: The output, which has the newest events before `next`.
    /// - Returns: Nil if the event cannot be read, or if it saves another record with the same fingerprint.
    func contents(
        of entry: RecordEntry, at address: RecordAddress, before next: UInt64, _ out: inout Outbox
    ) -> RecordContents? {
        var contents: RecordContents?
        let distance = next - entry.sequence
        if distance <= UInt64(out.count) {
            contents = out.withEvent(out.count - Int(distance)) { RecordContents($0) }
        } else {
            _ = pastEvents?.read(entry.sequence) { contents = RecordContents($0) }
        }
        return contents.flatMap { $0.address.bytes == address.bytes ? $0 : nil }
    }
}
