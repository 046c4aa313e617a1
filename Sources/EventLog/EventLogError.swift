import Glibc

/// What is wrong with a log.
package enum EventLogError: Error, Hashable, Sendable {
    /// A file of the log was changed after Belfry wrote it, or a part of the log is missing. `sequence` is the first
    /// event that is affected.
    case damaged(file: String, offset: UInt64, sequence: UInt64, reason: String)
    /// Another writer has the log open.
    case alreadyOpen(name: String, directory: String, process: Int32?)
    /// The disk, the quota or the file-size limit is used up. Nothing was appended.
    case full(file: String, bytesNeeded: Int, errno: Int32)
    /// A system call failed. If it was part of an append, nothing was appended.
    case failed(operation: String, file: String, errno: Int32)
    /// A sync to the disk failed. Events that were not durable yet may be lost. After a failed `fdatasync`, a writer
    /// rejects further batches.
    case syncFailed(file: String, errno: Int32)
    /// A limit of ``EventLogLimits`` is exceeded, or a stage's kind is too long for a snapshot. Nothing was appended or
    /// saved.
    case tooLarge(String, bytes: Int, bytesMax: Int)
    /// Another version of Belfry made the log.
    case unsupportedFormat(file: String, version: Int)
    /// The segment with this sequence was removed. `first` is the log's oldest event.
    case gone(directory: String, sequence: UInt64, first: UInt64)
    /// The name is not 1 to 64 characters of `A-Z a-z 0-9 . _ -`, or begins with a dot.
    case invalidName(String)
    /// The folder holds no log.
    case notALog(directory: String)
    /// The folder holds segments, but no `log.json`.
    case withoutManifest(directory: String)
    /// The log has lost its last events: it ends with `last`, but `file` was made when the log had reached
    /// `sequence`.
    case endLost(directory: String, last: UInt64, file: String, sequence: UInt64)
    /// The `settings.ndjson` of a log is damaged or belongs to another log. The events are not affected.
    case wrongSettings(file: String, line: Int, reason: String)
    /// Another host has taken the log over, so this one appends nothing more.
    case replaced(log: String, reason: String)
    /// The log's home cannot be used at the moment. The local files are as they were.
    case home(log: String, reason: String)
    /// The log's home, the settings and the local files do not fit together, which somebody has to change. The local
    /// files are as they were.
    case unusableHome(log: String, reason: String)
}

extension EventLogError: CustomStringConvertible {
    package var description: String { "\(problem); \(hint)" }

    private var problem: String {
        switch self {
        case .damaged(let file, let offset, let sequence, let reason):
            "\(file) is damaged at byte \(offset), from sequence \(sequence) on: \(reason)"
        case .alreadyOpen(let name, let directory, let process):
            "log '\(name)' in \(directory) is already open in \(process.map { "process \($0)" } ?? "another process")"
        case .full(let file, let bytesNeeded, let code):
            "no room for \(bytesNeeded) more bytes in \(file): \(EventLogError.text(code))"
        case .failed(let operation, let file, let code):
            "cannot \(operation) \(file): \(EventLogError.text(code))"
        case .syncFailed(let file, let code): "cannot make \(file) durable: \(EventLogError.text(code))"
        case .tooLarge(let what, let bytes, let bytesMax): "\(what) has \(bytes) bytes; at most \(bytesMax) are allowed"
        case .unsupportedFormat(let file, let version): "\(file) has format \(version)"
        case .gone(let directory, let sequence, let first):
            "sequence \(sequence) is no longer in \(directory), which begins at \(first)"
        case .invalidName(let name): "'\(name)' is not a valid name for a log"
        case .notALog(let directory): "\(directory) holds no log"
        case .withoutManifest(let directory): "\(directory)/log.json is missing, although there are segments of a log"
        case .endLost(let directory, let last, let file, let sequence):
            "\(directory) ends with sequence \(last), but \(file) was made when the log had reached \(sequence): "
                + "\(sequence - last) or more events are lost"
        case .wrongSettings(let file, let line, let reason): "\(file), line \(line): \(reason)"
        case .replaced(let log, let reason): "log '\(log)' was taken over: \(reason)"
        case .home(let log, let reason), .unusableHome(let log, let reason): "the home of log '\(log)': \(reason)"
        }
    }

    private var hint: String {
        switch self {
        case .damaged(let file, _, _, _):
            "restore the data folder from a backup, or run 'belfry log repair \(LogDirectory.split(file).folder)' to "
                + "see which events a repair would lose: a repair keeps the events before the damage"
        case .alreadyOpen: "stop that process, or give this one another folder"
        case .full: "make room, or raise the quota or limit"
        case .failed: "check the folder's owner, mode and disk"
        case .syncFailed: "check the disk, then start again: the log continues after the last batch on the disk"
        case .tooLarge: "send fewer or smaller events at once, or use shorter names"
        case .unsupportedFormat: "this version of Belfry reads format \(BatchFormat.version)"
        case .gone(_, _, let first): "start at sequence \(first), or from a snapshot"
        case .invalidName: "use 1 to 64 characters of A-Z a-z 0-9 . _ - and no dot at the beginning"
        case .notALog: "check the path"
        case .withoutManifest(let directory):
            "restore log.json from a copy, or run 'belfry log repair \(directory)', which may find the log's identity "
                + "in other files"
        case .endLost(let directory, _, _, _):
            "restore the data folder from a backup, or run 'belfry log repair \(directory)', which can let the log "
                + "continue without the lost events: pushes may then be sent again"
        case .wrongSettings:
            "restore the file from a copy, or remove only this file: then the pipeline file's settings apply to the "
                + "whole log"
        case .replaced: "let only one host run a stage, or stop the other one before you start this one again"
        case .home: "nothing was lost on this machine; start again when the cause is gone"
        case .unusableHome: "nothing was changed on this machine"
        }
    }

    private static func text(_ code: Int32) -> String { unsafe String(cString: strerror(code)) }
}

extension EventLogError {
    /// Whether an `errno` means that the disk, the quota or the file-size limit is used up.
    package static func isLackOfRoom(_ code: Int32) -> Bool { [ENOSPC, EDQUOT, EFBIG].contains(code) }

    /// The failure that `errno` describes.
    static func lastFailure(_ operation: String, _ file: String) -> EventLogError {
        .failed(operation: operation, file: file, errno: errno)
    }
}
