import EventLog
import PipelineKit
import Time

/// What two small files beside a stage's log say of the pushes that its transports may have.
///
/// An answer that the log holds behind ``after`` tells that its push is over. So one write before pushes go out is enough,
/// and none when they are answered.
struct InFlightJournalRecord: Hashable {
    /// One push at one device, in the hands of one transport.
    struct Entry: Hashable {
        /// See ``PipelineKit/Delivery/ID/number``.
        var push: UInt64
        /// A number of the transport's own, from when it is opened until it is closed; 0 where that is over.
        var life: UInt64
    }

    /// The later of two records counts.
    var generation: UInt64 = 0
    /// The machine's start that the record is of.
    var boot: UInt64
    /// The log's last sequence when the record was written: the answers behind it tell which pushes are over.
    var after: UInt64
    /// Of all pushes through this one nobody knows whether they were sent.
    var horizon: UInt64 = 0
    /// Whether it was forced to the disk when the stage had come to rest.
    var isAtRest = false
    /// What transports have, and what may have been sent by those that are gone.
    var entries: [Entry] = []
}

extension InFlightJournalRecord {
    enum Reading: Hashable {
        /// There is nothing that was written whole.
        case torn
        /// Another log's, or in a form that this build does not know.
        case foreign
        case record(InFlightJournalRecord)
    }

    /// `BFUW`, and the version of the form. In the machine's own order of bytes.
    private static let mark: UInt64 = 0x4246_5557_0000_0002
    private static let headerCount = 10

    func write(for log: LogIdentity, into words: inout [UInt64]) {
        words.removeAll(keepingCapacity: true)
        words += [
            Self.mark, 0, log.high, log.low, generation, boot, after, horizon, isAtRest ? 1 : 0, UInt64(entries.count),
        ]
        for entry in entries {
            words.append(entry.push)
            words.append(entry.life)
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
            Entry(push: words[$0], life: words[$0 + 1])
        }
        return .record(record)
    }

    private static func checksum(_ words: ArraySlice<UInt64>) -> UInt64 {
        UInt64(words.dropFirst(2).withUnsafeBytes { CRC32C.checksum($0) })
    }
}
