/// What ingest remembers of a record, in 32 bytes. The record's own fields are only in the event that
/// saved it.
struct RecordEntry {
    let fingerprint: NameFingerprint
    /// The sequence of the record's newest save; 0 only in an empty slot.
    let sequence: UInt64
    /// The zone's number; see ``ZoneMemory``.
    let zone: UInt32
    /// A fingerprint of the record's type. The event has the type itself.
    let type: UInt32

    static let empty = RecordEntry(fingerprint: NameFingerprint(high: 0, low: 0), sequence: 0, zone: 0, type: 0)

    @inline(__always)
    var isEmpty: Bool { sequence == 0 }
}

extension NameFingerprint {
    @inline(__always)
    static func < (left: NameFingerprint, right: NameFingerprint) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}
