import Glibc
import Time

/// Repairs a damaged log by cutting it off where the damage begins.
///
/// Later batches cannot be kept, because the sequences would have a gap. Before the repair changes a file, it
/// moves or copies the old version to a folder for copies. Only the trim note has no copy, because it is an empty file.
/// No writer can open the log during a repair.
package final class LogRepair {
    /// What ``apply(at:)`` will do.
    package let plan: RepairPlan

    private let log: LogDirectory
    private let manifest: LogManifest
    private let lock: WriterLock
    /// The new contents of `settings.ndjson`; nil if the file does not change.
    private let settings: SettingsFile?

    /// Reads the whole log, and changes no file except `lock`.
    ///
    /// - Parameters:
    ///   - directory: The log's own folder.
    ///   - progress: Called for each intact batch before the damage, with its number of bytes.
    /// - Throws: ``EventLogError/alreadyOpen(name:directory:process:)`` if a stage or another repair uses the log;
    ///   ``EventLogError/notALog(directory:)``; ``EventLogError/damaged(file:offset:sequence:reason:)`` if cutting does
    ///   not help, or if `log.json` is wrong and the log's identity cannot be found;
    ///   ``EventLogError/unsupportedFormat(file:version:)``.
    package init(directory: String, progress: (_ bytes: UInt64) -> Void = { _ in }) throws(EventLogError) {
        log = LogDirectory(path: directory)
        guard try log.isLog() else { throw .notALog(directory: directory) }
        lock = try WriterLock(LogDirectory.split(directory).name, log)
        let (manifest, wrong) = try LogManifest.readOrDerived(in: log)
        var scan = RepairScan(log, manifest)
        try scan.run(progress)
        var plan = scan.plan
        plan.manifestProblem = wrong
        let beyond = try LostEnd(of: log, manifest.identity).beyond(plan.keptThrough)
        plan.knownThrough = beyond.map(\.sequence).max()
        let cut =
            plan.cuts.isEmpty ? nil : try SettingsCut(of: log, cursor: scan.cursor, plan.keptThrough, scan.lastNow)
        settings = cut?.kept
        plan.settingsLost = cut?.dropped ?? 0
        if !plan.cuts.isEmpty {
            plan.derivedFiles = try DerivedFiles.ahead(of: plan, in: log)
            plan.consumersBeyond = try EventLogs.consumers(ofLogAt: directory)
                .map { RepairPlan.Consumer(name: $0.name, lastProcessed: $0.lastProcessed) }
                .filter { $0.lastProcessed > plan.keptThrough }
        } else {
            plan.derivedFiles = beyond.map(\.file)
        }
        (self.plan, self.manifest) = (plan, manifest)
    }

    /// Repairs the log. After an interruption a new repair can continue.
    ///
    /// - Parameter now: Part of the name of the folder for copies.
    /// - Returns: The folder for copies, inside the log's own folder; nil if the log was sound.
    package func apply(at now: Instant) throws(EventLogError) -> String? {
        guard !plan.isSound else { return nil }
        let copies = LogDirectory(path: "\(log.path)/damaged-\(now.rfc3339)")
        try copies.create()
        if plan.manifestProblem != nil { try repairManifest(copies) }
        if let settings { try repairSettings(settings, copies) }
        for file in plan.derivedFiles { try move(file, copies) }
        if plan.missingAtStart != nil, let first = try log.segments().first { try log.noteTrim(to: first) }
        // The newest file is cut first, so that an interruption leaves no gap between two segments.
        for cut in plan.cuts.reversed() { try apply(cut, copies) }
        try copies.synchronize()
        try log.synchronize()
        return copies.path
    }

    private func repairManifest(_ copies: LogDirectory) throws(EventLogError) {
        if try OpenFile.ifPresent(log.manifestPath) != nil { try copy(log.manifestPath, copies) }
        try manifest.write(in: log)
    }

    /// Must be called before the cuts, so that an interruption leaves no line that applies from a position after the
    /// log's end. After an interruption between this call and the cuts, the stage can start: it adds a line for the
    /// pipeline file's settings if they differ from the last line.
    private func repairSettings(_ settings: SettingsFile, _ copies: LogDirectory) throws(EventLogError) {
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
        var offset: UInt64 = 0
        while case let part = try source.bytes(1 << 20, at: offset), !part.isEmpty {
            if let code = unsafe part.withUnsafeBytes({ unsafe target.write($0, at: offset, log.calls.write) }) {
                throw EventLogError.failed(operation: "copy to", file: target.path, errno: code)
                    .orFull(bytesNeeded: part.count)
            }
            offset += UInt64(part.count)
        }
        try target.synchronize(log.calls)
    }
}

/// The lines of `settings.ndjson` for the part of a log that stays.
private struct SettingsCut {
    let kept: SettingsFile
    let dropped: Int

    /// Nil if every line stays. Also nil if `settings.ndjson` or `upstream.json` is damaged, or if `settings.ndjson`
    /// belongs to another log: a verification reports these problems.
    init?(of log: LogDirectory, cursor: Cursor, _ lastSequence: UInt64, _ lastNow: Instant) throws(EventLogError) {
        let note: UpstreamNote?
        let file: SettingsFile?
        do throws(EventLogError) {
            note = try UpstreamNote.read(directory: log.path)
            file = try SettingsFile.read(logDirectory: log.path)
        } catch {
            guard error.meansDamage else { throw error }
            return nil
        }
        let last = note.map { cursor.positions[$0.log] ?? 0 } ?? lastSequence
        let lines = file?.lines ?? []
        kept = SettingsFile(
            lines: Array(lines.prefix { $0.after <= last && $0.now <= lastNow }), of: file?.log,
            hasCRC: file?.hasCRC ?? true)
        dropped = lines.count - kept.lines.count
        if dropped == 0 { return nil }
    }
}

extension EventLogError {
    fileprivate var meansDamage: Bool {
        switch self {
        case .damaged, .wrongSettings: true
        default: false
        }
    }
}

/// The snapshots and index files of a log. Their names begin with a sequence.
private enum DerivedFiles {
    /// The snapshots after the events that stay, and the index files of the segments that are cut or removed.
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
    /// Whether the folder has a manifest or a segment.
    fileprivate func isLog() throws(EventLogError) -> Bool {
        if try OpenFile.ifPresent(manifestPath) != nil { return true }
        return try !segments().isEmpty
    }
}
