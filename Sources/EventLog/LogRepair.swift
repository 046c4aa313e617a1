import Glibc
import Time

/// Puts a damaged log right, by cutting it off where the damage begins.
///
/// Later batches cannot be kept: sequences would have a gap. They stay in the copy that is made of every file first.
/// While this lives, no writer can open the log.
package final class LogRepair {
    /// What would be done.
    package let plan: RepairPlan

    private let log: LogDirectory
    private let manifest: LogManifest
    private let lock: WriterLock
    /// What `settings.ndjson` is to say; nil where it stays.
    private let settings: SettingsFile?

    /// Reads the whole log and changes nothing.
    ///
    /// - Parameters:
    ///   - directory: The log's own folder.
    ///   - progress: Called with the bytes of each batch.
    /// - Throws: ``EventLogError/alreadyOpen(name:directory:process:)`` where a stage runs on it;
    ///   ``EventLogError/notALog(directory:)``; ``EventLogError/damaged(file:offset:sequence:reason:)`` where cutting
    ///   does not help, with what would.
    package init(directory: String, progress: (_ bytes: UInt64) -> Void = { _ in }) throws(EventLogError) {
        log = LogDirectory(path: directory)
        guard try log.isLog() else { throw .notALog(directory: directory) }
        lock = try WriterLock(LogDirectory.split(directory).name, log)
        let (manifest, wrong) = try LogManifest.readOrDerived(in: log)
        var scan = RepairScan(log, manifest)
        try scan.run(progress)
        var plan = scan.plan
        plan.manifest = wrong
        let beyond = try LostEnd(of: log, manifest.identity).beyond(plan.keptThrough)
        plan.knownThrough = beyond.map(\.sequence).max()
        let past =
            plan.cuts.isEmpty ? nil : try SettingsTimeline(of: log, cursor: scan.cursor, plan.keptThrough, scan.lastNow)
        settings = past?.kept
        plan.settingsLost = past?.dropped ?? 0
        if !plan.cuts.isEmpty {
            plan.derived = try DerivedFiles.ahead(of: plan, in: log)
            plan.consumersBeyond = try EventLogs.consumers(ofLogAt: directory).filter { $0.done > plan.keptThrough }
                .map { RepairPlan.Consumer(name: $0.name, done: $0.done) }
        } else {
            plan.derived = beyond.map(\.file)
        }
        (self.plan, self.manifest) = (plan, manifest)
    }

    /// Does it. Stopped in the middle, it can be begun again.
    ///
    /// - Parameter now: Names the copy.
    /// - Returns: The folder below the log's that holds every changed file as it was; nil where there was nothing to do.
    package func apply(at now: Instant) throws(EventLogError) -> String? {
        guard !plan.isSound else { return nil }
        let copies = LogDirectory(path: "\(log.path)/damaged-\(now.rfc3339)")
        try copies.create()
        if plan.manifest != nil { try mendManifest(copies) }
        if let settings { try mendSettings(settings, copies) }
        for file in plan.derived { try move(file, copies) }
        if plan.missing != nil, let first = try log.segments().first { try log.noteTrim(to: first) }
        // The newest first: what is left is the beginning of the log at every moment.
        for cut in plan.cuts.reversed() { try apply(cut, copies) }
        try copies.synchronize()
        try log.synchronize()
        return copies.path
    }

    private func mendManifest(_ copies: LogDirectory) throws(EventLogError) {
        if try OpenFile.ifPresent(log.manifestPath) != nil { try copy(log.manifestPath, copies) }
        try manifest.write(in: log)
    }

    /// Before the cuts: stopped between the two, the settings that count are those of the pipeline file.
    private func mendSettings(_ settings: SettingsFile, _ copies: LogDirectory) throws(EventLogError) {
        let path = SettingsFile.path(in: log.path)
        guard !settings.lines.isEmpty else { return try move(path, copies) }
        try copy(path, copies)
        try copies.synchronize()
        try settings.write(in: log)
    }

    private func apply(_ cut: RepairPlan.Cut, _ copies: LogDirectory) throws(EventLogError) {
        guard let kept = cut.bytesKept else { return try move(cut.file, copies) }
        try copy(cut.file, copies)
        try copies.synchronize()
        let file = try OpenFile(cut.file, O_RDWR)
        guard uninterrupted({ log.calls.truncate(file.descriptor, off_t(kept)) }) == 0 else {
            throw .lastFailure("cut back", cut.file)
        }
        try file.synchronize(log.calls)
    }

    private func move(_ path: String, _ copies: LogDirectory) throws(EventLogError) {
        let target = copies.path + "/" + LogDirectory.split(path).name
        guard uninterrupted({ unsafe log.calls.rename(path, target) }) == 0 else { throw .lastFailure("move", path) }
        try copies.synchronize()
        try log.synchronize()
    }

    private func copy(_ path: String, _ copies: LogDirectory) throws(EventLogError) {
        let source = try OpenFile(path, O_RDONLY)
        let target = try OpenFile(
            copies.path + "/" + LogDirectory.split(path).name, O_WRONLY | O_CREAT | O_TRUNC, calls: log.calls)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1)
        defer { unsafe room.deallocate() }
        var offset: UInt64 = 0
        while true {
            let count = try unsafe source.read(into: room, at: offset)
            if count == 0 { break }
            let bytes = unsafe UnsafeRawBufferPointer(rebasing: room[..<count])
            if let code = unsafe target.write(bytes, at: offset, log.calls.write) {
                throw EventLogError.failed(operation: "copy to", file: target.path, errno: code)
                    .orFull(bytesNeeded: count)
            }
            offset += UInt64(count)
        }
        try target.synchronize(log.calls)
    }
}

/// What `settings.ndjson` says of the part of a log that stays.
private struct SettingsTimeline {
    let kept: SettingsFile
    let dropped: Int

    /// Nil where all of it stays, or it cannot be read: verification says so, and nothing is lost.
    init?(of log: LogDirectory, cursor: Cursor, _ lastSequence: UInt64, _ lastNow: Instant) throws(EventLogError) {
        let note: UpstreamNote?
        let file: SettingsFile?
        do throws(EventLogError) {
            note = try UpstreamNote.read(directory: log.path)
            file = try SettingsFile.read(logDirectory: log.path)
        } catch {
            guard error.isOfSmallFile else { throw error }
            return nil
        }
        let last = note.map { cursor.positions[$0.log] ?? 0 } ?? lastSequence
        let lines = file?.lines ?? []
        kept = SettingsFile(
            lines: Array(lines.prefix { $0.after <= last && $0.now <= lastNow }), of: file?.log,
            isChecked: file?.isChecked ?? true)
        dropped = lines.count - kept.lines.count
        if dropped == 0 { return nil }
    }
}

extension EventLogError {
    fileprivate var isOfSmallFile: Bool {
        switch self {
        case .damaged, .wrongSettings: true
        default: false
        }
    }
}

/// What is made from a log and lies beside it. Its names begin with the sequence that it belongs to.
private enum DerivedFiles {
    /// Snapshots taken at a sequence that goes, and the index files of segments that are cut or go.
    static func ahead(of plan: RepairPlan, in log: LogDirectory) throws(EventLogError) -> [String] {
        let snapshots = try files(log.path + "/snapshots") { $0 > plan.keptThrough }
        guard let file = plan.cuts.first?.file, let cut = leadingNumber(LogDirectory.split(file).name) else {
            return snapshots
        }
        return try snapshots + files(log.path + "/index") { $0 >= cut }
    }

    private static func files(_ folder: String, where isAhead: (UInt64) -> Bool) throws(EventLogError) -> [String] {
        try LogDirectory.entries(of: folder).sorted().filter { leadingNumber($0).map(isAhead) ?? false }
            .map { folder + "/" + $0 }
    }

    private static func leadingNumber(_ name: String) -> UInt64? {
        UInt64(name.prefix { $0.isASCII && $0.isNumber })
    }
}

extension LogDirectory {
    /// Whether there is anything of a log.
    fileprivate func isLog() throws(EventLogError) -> Bool {
        if try OpenFile.ifPresent(manifestPath) != nil { return true }
        return try !segments().isEmpty
    }
}
