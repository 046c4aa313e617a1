import Events
import JSON
import PipelineKit

extension RecordMemory {
    /// Writes one line for each record, sorted by container, environment, database, owner, zone and name. Leaves out
    /// records whose events cannot be read from the log.
    ///
    /// - Parameter pastEvents: The events of the log. They contain the names and fields.
    func writeState(_ pastEvents: (any PastEvents)?, into lines: inout ByteBuffer) {
        var found: [RecordContents] = []
        for entry in entries.sorted(by: { $0.sequence < $1.sequence }) {
            _ = pastEvents?.read(entry.sequence) { if let contents = RecordContents($0) { found.append(contents) } }
        }
        found.sort { $0.address.bytes.lexicographicallyPrecedes($1.address.bytes) }
        for contents in found { contents.write(into: &lines) }
    }
}

extension RecordContents {
    fileprivate func write(into lines: inout ByteBuffer) {
        address.writeMembers(into: &lines)
        lines.append(member: .recordType)
        recordType.withUnsafeBytes { lines.appendJSON(utf8: $0) }
        lines.append(member: .fields)
        fields.withUnsafeBytes { lines.append($0) }
        lines.append("}\n")
    }
}

extension RecordAddress {
    /// Writes the members that identify the record; only addresses in shared databases contain a zone's owner.
    fileprivate func writeMembers(into buffer: inout ByteBuffer) {
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
        guard parts.count >= 6, let name = parts.last else { return }
        buffer.append(first: .container)
        parts[0].withUnsafeBytes { buffer.appendJSON(utf8: $0) }
        buffer.append(.environment, utf8: parts[1])
        buffer.append(.database, utf8: parts[2])
        if !parts[3].isEmpty { buffer.append(.owner, utf8: parts[3]) }
        buffer.append(.recordName, utf8: name)
        buffer.append(member: .zoneID)
        buffer.append(first: .zoneName)
        (parts[4].isEmpty ? Array("_defaultZone".utf8)[...] : parts[4]).withUnsafeBytes { buffer.appendJSON(utf8: $0) }
        if parts.count == 7, !parts[5].isEmpty { buffer.append(.ownerRecordName, utf8: parts[5]) }
        buffer.append("}")
    }
}
