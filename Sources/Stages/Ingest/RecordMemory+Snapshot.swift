import Events
import JSON
import PipelineKit

extension RecordMemory {
    /// Writes the records by fingerprint, an order that is the same in every process and fast to sort for millions.
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.reserve(
            parts.reduce(0) { $1.reduce($0) { $0 + $1.key.bytes.count + $1.value.byteCount + 20 } })
        snapshot.write(all: ranked) { ranked, snapshot in
            let (key, known) = parts[ranked.part][ranked.index]
            snapshot.write(key.bytes)
            known.withRecordType { snapshot.write($0) }
            known.withFields { snapshot.write($0) }
        }
    }

    mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        let count = try snapshot.count(bytesEach: 3)
        for part in parts.indices { parts[part].reserveCapacity(count / parts.count) }
        for _ in 0..<count {
            let key = RecordKey(bytes: try snapshot.array())
            let type = try snapshot.view()
            let fields = try snapshot.view()
            let known = type.withUnsafeBytes { type in
                fields.withUnsafeBytes { KnownRecord(recordType: type, fields: $0) }
            }
            guard parts[key.part].updateValue(known, forKey: key) == nil else {
                throw snapshot.error("a record appears twice")
            }
        }
    }

    private typealias Ranked = (rank: UInt64, part: Int, index: Part.Index)

    private var ranked: [Ranked] {
        var ranked: [Ranked] = []
        ranked.reserveCapacity(count)
        for (part, records) in parts.enumerated() {
            for index in records.indices { ranked.append((records[index].key.fingerprint, part, index)) }
        }
        ranked.sort { left, right in
            left.rank == right.rank ? key(of: left).precedes(key(of: right)) : left.rank < right.rank
        }
        return ranked
    }

    private func key(of ranked: Ranked) -> RecordKey { parts[ranked.part][ranked.index].key }
}

extension RecordKey {
    fileprivate var fingerprint: UInt64 { Fingerprint.of(bytes) }

    fileprivate func precedes(_ other: RecordKey) -> Bool { bytes.lexicographicallyPrecedes(other.bytes) }
}

// MARK: - State

extension RecordMemory {
    /// Writes one line for each record, sorted by container, environment, database, owner, zone and name.
    func writeState(into lines: inout ByteBuffer) {
        for (key, known) in parts.joined().sorted(by: { $0.key.precedes($1.key) }) {
            key.writeMembers(into: &lines)
            lines.append(member: .recordType)
            known.withRecordType { lines.appendJSON(utf8: $0) }
            lines.append(member: .fields)
            known.withFields { lines.append($0) }
            lines.append("}\n")
        }
    }
}

extension RecordKey {
    /// Writes the members that identify the record; only keys of shared databases contain a zone's owner.
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
