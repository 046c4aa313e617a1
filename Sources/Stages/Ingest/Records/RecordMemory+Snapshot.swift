import PipelineKit

extension RecordMemory {
    /// Writes all zones, then the records that still exist. The records are in the order of their fingerprints, so the
    /// order in which they were saved does not matter.
    func write(into snapshot: inout SnapshotWriter) {
        zones.write(into: &snapshot)
        snapshot.reserve(table.count * MemoryLayout<RecordEntry>.size + RecordTable.partCount * 10)
        for part in table.parts {
            let live = ContiguousArray(part.entries.filter(zones.isLive))
            live.withUnsafeBytes { snapshot.write($0) }
        }
    }

    /// - Parameter next: The sequence of the log's next event.
    mutating func read(from snapshot: inout SnapshotReader, before next: UInt64) throws(SnapshotError) {
        try zones.read(from: &snapshot)
        for part in 0..<RecordTable.partCount {
            let entries = try snapshot.view().withUnsafeBytes { RecordEntry.read($0) }
            guard let entries, isValid(entries, part, before: next) else {
                throw snapshot.error("a record is cut off or out of order, or its sequence or zone is out of range")
            }
            table.setPart(part, RecordTablePart(entries))
        }
    }

    private func isValid(_ entries: [RecordEntry], _ part: Int, before next: UInt64) -> Bool {
        var last: NameFingerprint?
        for entry in entries {
            guard RecordTable.part(of: entry.fingerprint) == part, last.map({ $0 < entry.fingerprint }) ?? true,
                !entry.isEmpty, entry.sequence < next, entry.zone <= zones.count, zones.isLive(entry)
            else { return false }
            last = entry.fingerprint
        }
        return true
    }

    /// The records that still exist, in the order of their fingerprints.
    var entries: some Sequence<RecordEntry> { table.parts.lazy.flatMap { $0.entries }.filter(zones.isLive) }

    /// The smallest ``RecordEntry/sequence`` of the records that still exist; nil if no record exists. Ingest does not
    /// need the fields in earlier events.
    var firstNeeded: UInt64? { entries.lazy.map(\.sequence).min() }
}

extension RecordEntry {
    /// The entries in the bytes; nil if the bytes end inside an entry.
    fileprivate static func read(_ bytes: UnsafeRawBufferPointer) -> [RecordEntry]? {
        let size = MemoryLayout<RecordEntry>.size
        guard bytes.count % size == 0 else { return nil }
        return [RecordEntry](unsafeUninitializedCapacity: bytes.count / size) { entries, count in
            UnsafeMutableRawBufferPointer(entries).copyMemory(from: bytes)
            count = bytes.count / size
        }
    }
}
