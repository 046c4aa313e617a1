import EventLog
import PipelineKit
import Time

/// The pushes that a stage's transports may have, as recorded in two small files beside the log.
///
/// A file is written each time before pushes are sent, and when the stage stops while no push waits for its first
/// answer. No file is written when answers come: the answers in the log after ``after`` show which pushes the
/// transports no longer have.
struct InFlightJournalRecord: Hashable {
    /// One push to one device, in one transport's session.
    struct Entry: Hashable {
        /// See ``Delivery/ID/number``.
        var number: UInt64
        /// The transport's session number; 0 after the session has ended.
        var session: UInt64
    }

    /// Of two intact records, the one with the higher generation counts.
    var generation: UInt64 = 0
    var boot: UInt64
    /// The log's last sequence when the record was written. Later answers in the log show which pushes the
    /// transports no longer have.
    var after: UInt64
    /// Every push up to this sequence of the upstream's log may have been sent.
    var horizon: UInt64 = 0
    /// Whether the record was forced to the disk while no push waited for its first answer.
    var isAtRest = false
    /// The pushes that transports have, and the pushes that may have been sent by a closed transport, or by a transport
    /// that the device no longer uses.
    var entries: [Entry] = []
}

extension InFlightJournalRecord {
    enum Reading: Hashable {
        /// No intact record.
        case torn
        /// The file cannot be read, is of another log or has an unknown format.
        case foreign
        case record(InFlightJournalRecord)
    }

    /// `BFUW` and the format's version, in the machine's byte order.
    private static let mark: UInt64 = 0x4246_5557_0000_0002
    private static let headerCount = 10

    func write(for log: LogIdentity, into words: inout [UInt64]) {
        words.removeAll(keepingCapacity: true)
        words += [
            Self.mark, 0, log.high, log.low, generation, boot, after, horizon, isAtRest ? 1 : 0, UInt64(entries.count),
        ]
        for entry in entries {
            words.append(entry.number)
            words.append(entry.session)
        }
        words[1] = Self.checksum(words[...])
    }

    static func read(_ words: [UInt64], for log: LogIdentity) -> Reading {
        guard let first = words.first else { return .torn }
        guard first == mark else { return .foreign }
        guard words.count >= headerCount else { return .torn }
        let count = Int(clamping: words[headerCount - 1])
        guard count <= words.count, case let total = headerCount + 2 * count, total <= words.count,
            words[1] == checksum(words[..<total])
        else { return .torn }
        guard words[2] == log.high, words[3] == log.low else { return .foreign }
        var record = InFlightJournalRecord(generation: words[4], boot: words[5], after: words[6], horizon: words[7])
        record.isAtRest = words[8] == 1
        record.entries = stride(from: headerCount, to: total, by: 2).map {
            Entry(number: words[$0], session: words[$0 + 1])
        }
        return .record(record)
    }

    private static func checksum(_ words: ArraySlice<UInt64>) -> UInt64 {
        UInt64(words.dropFirst(2).withUnsafeBytes { CRC32C.checksum($0) })
    }
}
