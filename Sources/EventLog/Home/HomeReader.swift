import Glibc
import Time

/// Reads the home's log while it is opened, compares the local batches, and appends those that are missing.
struct HomeReader {
    private let writer: EventLogWriter
    private var local: LocalBatches?
    /// The position of the last message with batches.
    private(set) var lastBatches: UInt64
    /// The last content of each file.
    private(set) var files: [String: String] = [:]
    /// The first sequence of the local files, if it is not known which messages they come from; else 0.
    private let localFirst: UInt64
    private var hasCompared = false
    /// Whether the log had its home for all local batches.
    private let isComplete: Bool
    private let hasNote: Bool
    private let host: String
    /// See ``EventLogWriter/continuesAnotherHost``.
    private(set) var hasOtherOwner = false

    init(_ writer: EventLogWriter, _ note: HomeNote?, _ local: LocalBatches, host: String) {
        (self.writer, self.local, self.host, hasNote) = (writer, local, host, note != nil)
        (lastBatches, localFirst) = (note?.position ?? 0, note == nil ? local.first : 0)
        hasOtherOwner = note?.isFollowed ?? false
        isComplete = note?.isComplete ?? true
    }

    mutating func take(_ message: HomeMessage) throws(EventLogError) {
        switch message.content {
        case .owner(let owner): hasOtherOwner = hasOtherOwner || !hasNote || owner != host
        case .file(let name, let text):
            guard HomeMessage.files.contains(name) else {
                throw fail("message \(message.position) has a file with the unknown name '\(name.prefix(80))'")
            }
            files[name] = text
            try LogDirectory(path: writer.directory, calls: writer.calls).replace(
                "\(writer.directory)/\(name)", with: text)
        case .batches(let bytes):
            // The message of the owner may have been trimmed.
            hasOtherOwner = hasOtherOwner || !hasNote
            let found = try HomeBatches(bytes, position: message.position, of: writer.name, writer.identity)
            try begin(with: found)
            for batch in found.batches { try take(batch, of: found) }
            lastBatches = message.position
        }
    }

    /// Skips or accepts what the local files have before the home's first message.
    private mutating func begin(with found: HomeBatches) throws(EventLogError) {
        guard lastBatches == 0, found.start.nextSequence > 1 else { return }
        if writer.lastNow == .epoch, writer.nextSequence == 1 {
            local = nil
            return try writer.begin(at: found.start)
        }
        if localFirst > 0 { try local?.skip(to: found.start.nextSequence) }
    }

    private mutating func take(_ batch: HomeBatches.Batch, of found: HomeBatches) throws(EventLogError) {
        if local != nil, batch.fixed.firstSequence < localFirst { return }
        if let next = try local?.next() {
            if next.fixed == batch.fixed {
                hasCompared = true
                return
            }
            if !hasCompared, batch.fixed.firstSequence == localFirst, batch.fixed.count == 0 {
                // Retention has removed this batch with the segment before the first local one.
                local?.putBack(next)
                return
            }
            guard isComplete else {
                throw fail(
                    "it has other events from sequence \(batch.fixed.firstSequence) on than \(writer.directory), which "
                        + "was written without its home: move this folder away, and it is filled again from the home")
            }
            try writer.cut(at: next.place, because: "the home of the log has other events there")
        }
        local = nil
        guard batch.fixed.firstSequence == writer.nextSequence else {
            throw fail(
                "it continues with sequence \(batch.fixed.firstSequence), but \(writer.directory) ends with "
                    + "\(writer.lastSequence): move this folder away, and it is filled again from the home")
        }
        try unsafe found.bytes.withUnsafeBufferPointer { bytes throws(EventLogError) in
            let body = unsafe UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[batch.body]))
            _ = try unsafe writer.append(
                body, count: Int(batch.fixed.count), cursor: batch.cursor, now: batch.fixed.now)
        }
    }

    /// Whether the local files end where the messages end that were taken.
    var isAtLocalEnd: Bool { local == nil }

    /// Whether there are local batches that the home does not have. Call this after all messages were taken.
    mutating func hasRest() throws(EventLogError) -> Bool {
        guard let next = try local?.next() else { return false }
        local?.putBack(next)
        return true
    }

    /// Where the local batches begin that the home does not have; nil if it has all.
    mutating func rest() throws(EventLogError) -> LocalBatches.Place? {
        defer { local = nil }
        return try local?.next()?.place
    }

    private func fail(_ reason: String) -> EventLogError { .unusableHome(log: writer.name, reason: reason) }
}
