import Glibc
import Time

/// Compares the local files of a log with its home, and lets a home that has lost messages get them again from the
/// local files.
///
/// Use it after ``LogRepair`` has found the local files sound. No writer can open the log meanwhile.
package final class HomeRepair {
    package enum Finding: Hashable, Sendable {
        /// The home has all events that it had acknowledged. It may have more than the local files.
        case complete
        /// The home has no such log.
        case missing
        /// The home ends with event `last`, and the local files go on.
        case lostEnd(last: UInt64)
        /// The home lacks a message, or has a damaged one.
        case damaged(reason: String)
    }

    package let finding: Finding
    private let log: LogDirectory
    private let name: String
    private let home: any LogHome
    private let lock: WriterLock
    /// Where the local files go on after the home's last event.
    private let note: HomeNote?

    /// Throws if the snapshots in the home show that another host has written later events.
    private func checkSnapshots(_ identity: LogIdentity) throws(EventLogError) {
        guard finding != .complete else { return }
        let last = try EventLogs.summary(directory: log.path).lastSequence
        let newest = try home.snapshots(of: name, identity: identity).compactMap(\.sequence).max() ?? 0
        guard newest > last else { return }
        throw .unusableHome(
            log: name,
            reason:
                "one of its snapshots was made at sequence \(newest), but \(log.path) ends with \(last): another host "
                + "wrote the log last, so repair it there")
    }

    /// Reads the whole log in the home and the heads of all local batches. Changes nothing.
    ///
    /// - Parameters:
    ///   - directory: The log's own folder.
    ///   - progress: Called with the size of each message of the home.
    /// - Throws: ``EventLogError/alreadyOpen(name:directory:process:)``; ``EventLogError/home(log:reason:)`` if the
    ///   home does not answer; ``EventLogError/unusableHome(log:reason:)`` if the home and the local files have
    ///   different events.
    package init(
        directory: String, home: any LogHome, progress: (_ bytes: UInt64) -> Void = { _ in }
    ) throws(EventLogError) {
        log = LogDirectory(path: directory)
        name = LogDirectory.split(directory).name
        self.home = home
        lock = try WriterLock(name, log)
        guard let manifest = try LogManifest.read(in: log) else { throw .withoutManifest(directory: directory) }
        let local = try HomeNote.read(in: directory)
        guard let stored = try home.find(name, identity: manifest.identity) else {
            (finding, note) = (local == nil ? .complete : .missing, nil)
            try checkSnapshots(manifest.identity)
            return
        }
        var comparison = HomeComparison(log, manifest.identity, try LocalBatches(log, manifest.identity, from: nil))
        do throws(EventLogError) {
            let end = try stored.read(after: 0) { message throws(EventLogError) in
                try comparison.take(message, progress)
            }
            guard end < local?.position ?? .max, let rest = try comparison.rest() else {
                (finding, note) = (.complete, nil)
                return
            }
            finding = .lostEnd(last: comparison.last)
            note =
                comparison.position == 0
                ? nil
                : HomeNote(
                    position: comparison.position, segment: rest.segment, offset: rest.offset,
                    sequence: comparison.last, isComplete: false)
        } catch {
            guard case .unusableHome(_, let reason) = error, !comparison.isDifferent else { throw error }
            (finding, note) = (.damaged(reason: reason), nil)
        }
        try checkSnapshots(manifest.identity)
    }

    /// Prepares the local files, so that the next start of the stage stores again in the home what it lacks. Removes a
    /// damaged log from the home. Its snapshots stay there.
    package func apply() throws(EventLogError) {
        switch finding {
        case .complete: return
        case .missing: break
        case .lostEnd:
            if let note { return try note.write(to: HomeNote.open(in: log.path, calls: log.calls), log.calls) }
        case .damaged: try home.remove(name)
        }
        // Without a note, and with an empty log in the home, a start copies all local files.
        let path = HomeNote.path(in: log.path)
        guard uninterrupted({ unsafe log.calls.unlink(path) }) == 0 || errno == ENOENT else {
            throw .lastFailure("remove", path)
        }
        try log.synchronize()
    }
}

/// Compares the batches in a log's home with the local ones.
private struct HomeComparison {
    private let log: LogDirectory
    private let identity: LogIdentity
    private var local: LocalBatches
    private var hasBegun = false
    private var isLocalOver = false
    /// Whether the home has other events than the local files.
    private(set) var isDifferent = false
    /// The position of the last message with batches; 0 before the first one.
    private(set) var position: UInt64 = 0
    /// The sequence of the last event.
    private(set) var last: UInt64 = 0

    init(_ log: LogDirectory, _ identity: LogIdentity, _ local: LocalBatches) {
        (self.log, self.identity, self.local) = (log, identity, local)
    }

    mutating func take(_ message: HomeMessage, _ progress: (UInt64) -> Void) throws(EventLogError) {
        guard case .batches(let bytes) = message.content else { return }
        progress(UInt64(bytes.count))
        let found = try HomeBatches(
            bytes, position: message.position, of: LogDirectory.split(log.path).name, identity)
        if !hasBegun { try local.skip(to: found.start.nextSequence) }
        for batch in found.batches { try take(batch.fixed) }
        (hasBegun, position) = (true, message.position)
    }

    private mutating func take(_ stored: FixedHeader) throws(EventLogError) {
        last = stored.firstSequence + UInt64(stored.count) - 1
        guard !isLocalOver, stored.firstSequence >= local.first else { return }
        guard let next = try local.next() else {
            isLocalOver = true
            return
        }
        if next.fixed == stored { return }
        if stored.count == 0, stored.firstSequence == local.first {
            // Retention has removed this batch with the segment before the first local one.
            return local.putBack(next)
        }
        isDifferent = true
        throw .unusableHome(
            log: LogDirectory.split(log.path).name,
            reason:
                "it has other events from sequence \(stored.firstSequence) on than \(log.path): another host continued "
                + "the log, or filled the home again from an older copy. Decide which of the two is right. If it is the "
                + "home, move this folder away, and it is filled again; if it is this folder, stop the other host, and "
                + "delete the log in the home before you repair it again")
    }

    /// Where the local batches begin that the home does not have; nil if it has all.
    mutating func rest() throws(EventLogError) -> LocalBatches.Place? {
        guard let place = try local.next()?.place else { return nil }
        guard position == 0 || local.first <= last + 1 else {
            throw .unusableHome(
                log: LogDirectory.split(log.path).name,
                reason: "it ends with sequence \(last), but \(log.path) begins with \(local.first)")
        }
        return place
    }
}
