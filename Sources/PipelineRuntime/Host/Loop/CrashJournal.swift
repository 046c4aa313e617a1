import EventLog
import Glibc
import Time

/// The events that a stage is processing, in a small file beside its log.
///
/// Before the stage gets events, their sequences are written to the file as a note. When the stage has handled the
/// events, the note is cleared. If a host finds a note when it starts, the previous process ended while it worked on
/// the events in the note. A note survives the end of a process. A crash of the machine may lose the note, because it
/// is never forced to the disk.
///
/// Usually there is one note for each upstream batch. After a crash each event of the batch gets a note of its own, so
/// that the next crash shows on which event the stage crashes.
final class CrashJournal {
    static let name = "crash-journal"
    /// After this many crashes in a row on one event, the event is set aside.
    static let crashesMax: UInt64 = 3
    /// How many events may be set aside in a row. If the stage crashes on the next event too, the fault is in the
    /// stage, not in its input.
    static let setAsideMax: UInt64 = 10

    private let log: LogIdentity
    private let file: CInt
    private(set) var record: CrashRecord
    /// How the stage's previous process ended, if the supervisor reported it.
    private let end: String?

    /// Nil if the file cannot be written. Then no event is set aside.
    init?(logDirectory: String, of log: LogIdentity, boot: UInt64, end: String? = nil) {
        let path = "\(logDirectory)/\(Self.name)"
        file = DataMode(of: logDirectory).open(path, O_WRONLY | O_CREAT | O_CLOEXEC)
        guard file >= 0 else { return nil }
        (self.log, self.end) = (log, end)
        if case .record(let before)? = CrashRecord.read(path, of: log) {
            record = before
        } else {
            record = CrashRecord(boot: boot)
        }
        record.takeOver(at: boot)
        guard writeRecord() else { return nil }
    }

    deinit { close(file) }

    /// The event that the stage must set aside. Nil if the stage must not set any event aside.
    var eventToSetAside: UInt64? { record.setAsideInARow < Self.setAsideMax ? crashingEvent : nil }

    /// The event on which the stage crashed at least ``crashesMax`` times in a row. Nil if no single event caused so
    /// many crashes.
    var crashingEvent: UInt64? {
        record.crashes >= Self.crashesMax && record.suspects.count == 1 ? record.suspects.lowerBound : nil
    }

    /// Whether, in an upstream batch that begins with this event, each event gets a note of its own.
    func notesEachEvent(from sequence: UInt64) -> Bool { sequence <= record.noteEachThrough }

    func note(_ events: ClosedRange<UInt64>) {
        record.inProgress = events
        _ = writeRecord()
    }

    func clear() {
        guard record.inProgress != nil else { return }
        (record.inProgress, record.setAsideInARow) = (nil, 0)
        _ = writeRecord()
    }

    func noteSetAside() {
        record.setAsideInARow += 1
        _ = writeRecord()
    }

    var reason: String {
        let last = end.map { " (the last time it \($0))" } ?? ""
        return
            "the stage crashed three times on this event: its process ended each time while it worked on the event\(last)"
    }

    private func writeRecord() -> Bool {
        let words = record.words(of: log)
        return words.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) } == words.count * 8
    }
}

/// The contents of a ``CrashJournal``.
struct CrashRecord: Hashable {
    var boot: UInt64
    var inProgress: ClosedRange<UInt64>?
    /// The events that the last crash may have been on; `0...0` if there was no crash.
    var suspects: ClosedRange<UInt64> = 0...0
    /// How many crashes in a row were on these events.
    var crashes: UInt64 = 0
    /// In an upstream batch that begins at or before this event, each event gets a note of its own.
    var noteEachThrough: UInt64 = 0
    var setAsideInARow: UInt64 = 0

    /// Called when a process starts. If events are noted, the previous process ended while it worked on these events. A
    /// note from another boot is ignored, because a crash of the machine may leave an old note on the disk.
    mutating func takeOver(at boot: UInt64) {
        defer { (self.boot, inProgress) = (boot, nil) }
        guard let events = inProgress, self.boot == boot else { return }
        let isSame = crashes > 0 && suspects.lowerBound <= events.lowerBound && events.upperBound <= suspects.upperBound
        (suspects, crashes) = (events, isSame ? crashes + 1 : 1)
        noteEachThrough = max(noteEachThrough, events.upperBound)
    }
}

extension CrashRecord {
    /// `BFCJ` and the format's version, in the machine's byte order.
    private static let mark: UInt64 = 0x4246_434A_0000_0001
    private static let count = 12

    func words(of log: LogIdentity) -> [UInt64] {
        var words: [UInt64] = [
            Self.mark, 0, log.high, log.low, boot, inProgress?.lowerBound ?? 0, inProgress?.upperBound ?? 0,
            suspects.lowerBound, suspects.upperBound, crashes, noteEachThrough,
            setAsideInARow,
        ]
        words[1] = Self.checksum(words)
        return words
    }

    enum Reading: Hashable {
        case record(CrashRecord)
        /// The file cannot be read, is damaged, belongs to another log, or has an unknown format.
        case foreign
    }

    /// Reads the file; nil if it is missing or empty.
    static func read(_ path: String, of log: LogIdentity) -> Reading? {
        let words: [UInt64]
        do throws(AtomicTextFileError) {
            guard let bytes = try AtomicTextFile.readBytes(path), !bytes.isEmpty else { return nil }
            words = [UInt64](words: bytes)
        } catch { return .foreign }
        guard words.count >= count, words[0] == mark, words[1] == checksum(words), words[2] == log.high,
            words[3] == log.low, words[5] <= words[6], words[7] <= words[8]
        else { return .foreign }
        return .record(
            CrashRecord(
                boot: words[4], inProgress: words[5] > 0 ? words[5]...words[6] : nil, suspects: words[7]...words[8],
                crashes: words[9], noteEachThrough: words[10], setAsideInARow: words[11]))
    }

    private static func checksum(_ words: [UInt64]) -> UInt64 {
        UInt64(words[2..<count].withUnsafeBytes { CRC32C.checksum($0) })
    }
}

/// The contents of a ``CrashJournal``, for tools.
package struct CrashNote: Hashable, Sendable {
    /// The upstream events that the stage's process may have ended on.
    package var events: ClosedRange<UInt64>
    /// How many times in a row the stage crashed on these events. 0 if they are only noted as in progress: a process is
    /// working on them, or it ended during that work.
    package var crashes: UInt64

    /// Reads the note beside a log. Nil if there is no valid note, or if it names no events after `cursor`, the last
    /// upstream event that the stage's log covers.
    package static func read(
        logDirectory: String, of log: LogIdentity, after cursor: UInt64
    ) -> CrashNote? {
        guard case .record(let record)? = CrashRecord.read("\(logDirectory)/\(CrashJournal.name)", of: log),
            let events = record.inProgress ?? (record.crashes > 0 ? record.suspects : nil), events.upperBound > cursor
        else { return nil }
        return CrashNote(
            events: max(events.lowerBound, cursor + 1)...events.upperBound,
            crashes: record.inProgress == nil ? record.crashes : 0)
    }
}

/// Checks that the file of a ``CrashJournal`` is intact.
package struct CrashJournalCheck: LogCheck {
    package init() {}

    package var checksCache: Bool { true }

    package func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        let path = "\(log.directory)/\(CrashJournal.name)"
        guard CrashRecord.read(path, of: log.identity) == .foreign else { return [] }
        let reason =
            "this file is damaged, or belongs to another log: the stage starts to count its crashes from zero"
        return [VerifyReport.Problem(file: path, offset: 0, sequence: log.lastSequence, reason: reason)]
    }
}

extension Cursor {
    private static let aside = "/aside"

    /// The upstream event that the batch sets aside, because the stage crashed on it; nil for any other batch. A replay
    /// does not feed the stage this event. The batch itself holds no event. Its cursor moves past the event that it sets
    /// aside, and past the earlier events that had no output and that no batch has covered yet.
    package var setAside: UInt64? { positions.first { $0.value > 0 && $0.key.hasSuffix(Self.aside) }?.value }

    mutating func setAside(_ sequence: UInt64, of upstream: String) { positions[upstream + Self.aside] = sequence }
}

/// The events that a stage's log records as set aside because the stage crashed on them.
package enum SetAsideEvents {
    /// The code of the dead letters for these events.
    package static let code = "stage.crashed"

    /// The sequences of these events, in ascending order.
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
