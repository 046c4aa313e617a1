import EventLog
import PipelineKit

/// What two small files beside a stage's log say of the pushes that its transports may have.
///
/// A part of a window is on record as over as soon as the log is past ``after``. So one write before each part is enough,
/// and none when it is answered.
struct UnderWayRecord: Hashable {
    /// One push at one device, in the hands of one transport.
    struct Entry: Hashable {
        /// See ``EventLog/Delivery/ID/number``.
        var push: UInt64
        /// A number of the transport's own, from when it is opened until it is closed; 0 where that is over.
        var life: UInt64
    }

    /// The later of two records counts.
    var generation: UInt64 = 0
    /// The machine's start that the record is of.
    var boot: UInt64
    /// The log's last sequence when the part went out: its answers are the next that the log takes.
    var after: UInt64
    /// Of all pushes through this one nobody knows whether they were sent.
    var horizon: UInt64 = 0
    /// Whether it was forced to the disk when the stage had come to rest.
    var isAtRest = false
    /// What was under way before the part.
    var before: [Entry] = []
    var part: [Entry] = []
    /// What of the part still is when all of it is answered.
    var late: [Entry] = []
}

extension UnderWayRecord {
    enum Reading: Hashable {
        /// There is nothing that was written whole.
        case torn
        /// Another log's, or in a form that this build does not know.
        case foreign
        case record(UnderWayRecord)
    }

    /// `BFUW`, and the version of the form. In the machine's own order of bytes.
    private static let mark: UInt64 = 0x4246_5557_0000_0001
    private static let headerCount = 12

    func write(for log: LogIdentity, into words: inout [UInt64]) {
        words.removeAll(keepingCapacity: true)
        words += [
            Self.mark, 0, log.high, log.low, generation, boot, after, horizon, isAtRest ? 1 : 0, UInt64(before.count),
            UInt64(part.count), UInt64(late.count),
        ]
        for entries in [before, part, late] {
            for entry in entries {
                words.append(entry.push)
                words.append(entry.life)
            }
        }
        words[1] = Self.checksum(words[...])
    }

    static func read(_ words: [UInt64], for log: LogIdentity) -> Reading {
        guard let first = words.first else { return .torn }
        guard first == mark else { return .foreign }
        guard words.count >= headerCount else { return .torn }
        guard let (counts, total) = counts(words), words[1] == checksum(words[..<total]) else { return .torn }
        guard words[2] == log.high, words[3] == log.low else { return .foreign }
        var record = UnderWayRecord(generation: words[4], boot: words[5], after: words[6], horizon: words[7])
        record.isAtRest = words[8] == 1
        var rest = words[headerCount..<total]
        record.before = take(counts[0], from: &rest)
        record.part = take(counts[1], from: &rest)
        record.late = take(counts[2], from: &rest)
        return .record(record)
    }

    /// How many entries there are of each kind, and how many words in all; nil where the file has fewer.
    private static func counts(_ words: [UInt64]) -> (counts: [Int], total: Int)? {
        let counts = words[9..<headerCount].map { Int(clamping: $0) }
        guard counts.allSatisfy({ $0 <= words.count }) else { return nil }
        let total = headerCount + 2 * counts.reduce(0, +)
        return total <= words.count ? (counts, total) : nil
    }

    private static func take(_ count: Int, from words: inout ArraySlice<UInt64>) -> [Entry] {
        let taken = words.prefix(2 * count)
        words = words.dropFirst(2 * count)
        return stride(from: taken.startIndex, to: taken.endIndex, by: 2).map {
            Entry(push: taken[$0], life: taken[$0 + 1])
        }
    }

    private static func checksum(_ words: ArraySlice<UInt64>) -> UInt64 {
        UInt64(words.dropFirst(2).withUnsafeBytes { CRC32C.checksum($0) })
    }
}

extension Delivery.ID {
    /// Tells it apart from all others that could be under way with it, but for one case in 2^64.
    var number: UInt64 {
        var hash = (0xCBF2_9CE4_8422_2325 ^ push) &* 0x0000_0100_0000_01B3
        if let retired { hash = (hash ^ UInt64(bitPattern: retired.microseconds)) &* 0x9E37_79B9_7F4A_7C15 }
        for byte in device.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        hash = (hash ^ hash >> 32) &* 0x9E37_79B9_7F4A_7C15
        return hash ^ hash >> 29
    }
}
