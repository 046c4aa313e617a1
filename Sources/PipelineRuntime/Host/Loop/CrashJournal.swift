import EventLog
import Glibc
import Time

/// What a stage's process was at work on when it ended without a chance to say so.
///
/// A small file beside the stage's log: before events are given to the stage, their sequences are noted there, and taken
/// away when the stage has given them back. What is noted when a host starts was in hand when the process before it
/// ended. A note survives the death of a process, not of the machine: it is never forced to the disk.
///
/// One note for each batch of the upstream's is all that a host pays. After a crash it feeds what was noted one event at a
/// time, with a note for each, until it is past all that was in hand: so the next crash tells which event it was.
final class CrashJournal {
    static let name = "crash-journal"
    /// After so many crashes in a row at the same event, the event is set aside.
    static let crashesMax: UInt64 = 3
    /// After so many events in a row, with none between them that the stage took, nothing more is set aside: then the stage
    /// is broken, and not the events.
    static let setAsideMax: UInt64 = 10

    private let log: LogIdentity
    private let file: CInt
    private(set) var record: CrashRecord
    /// How the process before this one ended, where whoever started both has said so.
    private let end: String?

    /// Takes note of what the process before this one had in hand.
    ///
    /// Nil where there is no room for the file, or no right to it: the stage goes on without, and nothing is set aside.
    init?(logDirectory: String, of log: LogIdentity, boot: UInt64, end: String? = nil) {
        let descriptor = DataMode(of: logDirectory).open("\(logDirectory)/\(Self.name)", O_RDWR | O_CREAT | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        (file, self.log, self.end) = (descriptor, log, end)
        if case .record(let before)? = CrashRecord.read(descriptor, of: log) {
            record = before
        } else {
            record = CrashRecord(boot: boot)
        }
        record.takeOver(at: boot)
        guard put() else { return nil }
    }

    deinit { close(file) }

    /// The event that is to be set aside, if it is not in the log of the past; nil where there is none.
    var setAside: UInt64? { record.setAsideInARow < Self.setAsideMax ? culprit : nil }

    /// The event that the stage has crashed on often enough; nil where there is none.
    var culprit: UInt64? {
        record.crashes >= Self.crashesMax && record.suspects.count == 1 ? record.suspects.lowerBound : nil
    }

    /// Whether events from this one on are fed one at a time, with a note for each.
    func isCareful(from sequence: UInt64) -> Bool { sequence <= record.carefulThrough }

    /// The stage is at work on these.
    func note(_ events: ClosedRange<UInt64>) {
        record.inHand = events
        _ = put()
    }

    /// The stage has taken what was noted.
    func clear() {
        guard record.inHand != nil else { return }
        (record.inHand, record.setAsideInARow) = (nil, 0)
        _ = put()
    }

    /// The stage never gets ``setAside``.
    func noteSetAside() {
        record.setAsideInARow += 1
        _ = put()
    }

    /// Why the event is set aside.
    var reason: String {
        let last = end.map { ", the last time it \($0)" } ?? ""
        return
            "the stage crashed three times on it: each time its process ended while it was at work on this event\(last)"
    }

    private func put() -> Bool {
        let words = record.words(of: log)
        return words.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) } == words.count * 8
    }
}

/// What a ``CrashJournal`` holds.
struct CrashRecord: Hashable {
    /// The machine's start that the record is of.
    var boot: UInt64
    /// What the stage is at work on.
    var inHand: ClosedRange<UInt64>?
    /// Among these is the event that the last crash was at; one alone where it is known. 0 alone where there was none.
    var suspects: ClosedRange<UInt64> = 0...0
    /// How often in a row the process ended at the suspects.
    var crashes: UInt64 = 0
    /// Through which event the stage is fed one event at a time.
    var carefulThrough: UInt64 = 0
    /// How many events were set aside since the stage took one.
    var setAsideInARow: UInt64 = 0

    /// A process begins: what is noted was in hand when the one before it ended. After a start of the machine a note tells
    /// nothing, since nobody knows when it reached the disk.
    mutating func takeOver(at boot: UInt64) {
        defer { (self.boot, inHand) = (boot, nil) }
        guard let events = inHand, self.boot == boot else { return }
        let isSame = crashes > 0 && suspects.lowerBound <= events.lowerBound && events.upperBound <= suspects.upperBound
        (suspects, crashes) = (events, isSame ? crashes + 1 : 1)
        carefulThrough = max(carefulThrough, events.upperBound)
    }
}

extension CrashRecord {
    /// `BFCJ`, and the version of the form. In the machine's own order of bytes.
    private static let mark: UInt64 = 0x4246_434A_0000_0001
    private static let count = 12

    func words(of log: LogIdentity) -> [UInt64] {
        var words: [UInt64] = [
            Self.mark, 0, log.high, log.low, boot, inHand?.lowerBound ?? 0, inHand?.upperBound ?? 0,
            suspects.lowerBound, suspects.upperBound, crashes, carefulThrough,
            setAsideInARow,
        ]
        words[1] = Self.checksum(words)
        return words
    }

    enum Reading: Hashable {
        case record(CrashRecord)
        /// Another log's, damaged, or in a form that this build does not know.
        case foreign
    }

    /// Nil where there is no file.
    static func read(_ path: String, of log: LogIdentity) -> Reading? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return errno == ENOENT ? nil : .foreign }
        defer { close(file) }
        return read(file, of: log)
    }

    /// Nil where nothing was ever written to the file.
    static func read(_ file: CInt, of log: LogIdentity) -> Reading? {
        var words = [UInt64](repeating: 0, count: count)
        let bytes = words.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
        if bytes == 0 { return nil }
        guard bytes == count * 8, words[0] == mark, words[1] == checksum(words), words[2] == log.high,
            words[3] == log.low, words[5] <= words[6], words[7] <= words[8]
        else { return .foreign }
        return .record(
            CrashRecord(
                boot: words[4], inHand: words[5] > 0 ? words[5]...words[6] : nil, suspects: words[7]...words[8],
                crashes: words[9], carefulThrough: words[10], setAsideInARow: words[11]))
    }

    private static func checksum(_ words: [UInt64]) -> UInt64 {
        UInt64(words[2...].withUnsafeBytes { CRC32C.checksum($0) })
    }
}

/// What a ``CrashJournal`` says, for tools.
package struct CrashNote: Hashable, Sendable {
    /// Among these events of the upstream's log is the one that the stage's process may have ended at.
    package var events: ClosedRange<UInt64>
    /// How often in a row; 0 where a process is at work on them, or ended and was not started again.
    package var crashes: UInt64

    /// Nil where there is none that the stage's log does not answer.
    package static func read(
        logDirectory: String, of log: LogIdentity, after cursor: UInt64
    ) -> CrashNote? {
        guard case .record(let record)? = CrashRecord.read("\(logDirectory)/\(CrashJournal.name)", of: log),
            let events = record.inHand ?? (record.crashes > 0 ? record.suspects : nil), events.upperBound > cursor
        else { return nil }
        return CrashNote(
            events: max(events.lowerBound, cursor + 1)...events.upperBound,
            crashes: record.inHand == nil ? record.crashes : 0)
    }
}

/// Checks that the file of a ``CrashJournal`` is whole.
package struct CrashJournalCheck: LogCheck {
    package init() {}

    /// No event depends on it.
    package var isOfCache: Bool { true }

    package func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        let path = "\(log.directory)/\(CrashJournal.name)"
        guard CrashRecord.read(path, of: log.identity) == .foreign else { return [] }
        let reason =
            "this is no record of what this log's stage was at work on, or it is damaged: if the stage crashes, it counts anew"
        return [VerifyReport.Problem(file: path, offset: 0, sequence: log.lastSequence, reason: reason)]
    }
}

extension Cursor {
    private static let aside = "/aside"

    /// The event of the upstream's log that the batch sets aside, because the stage crashed on it: whoever feeds the stage
    /// its past leaves it out. Such a batch holds no event, and its cursor passes that event alone.
    package var setAside: UInt64? { positions.first { $0.value > 0 && $0.key.hasSuffix(Self.aside) }?.value }

    /// The same for a log.
    mutating func setAside(_ sequence: UInt64, of upstream: String) { positions[upstream + Self.aside] = sequence }
}

/// Which events a stage's log says were set aside because the stage crashed on them.
package enum SetAsideEvents {
    /// The code of their dead letters.
    package static let code = "stage.crashed"

    /// In their order. Reads the headers of the log only where there are any.
    package static func of(log directory: String) throws(EventLogError) -> [UInt64] {
        guard try EventLogs.cursor(directory: directory).setAside != nil else { return [] }
        let reader = try EventLogReader(directory: directory, from: .beginning)
        var events: [UInt64] = []
        while let header = try reader.nextHeader() {
            if let sequence = header.cursor.setAside, events.last != sequence { events.append(sequence) }
        }
        return events
    }
}
