import Glibc

/// What can be wrong with a log, with what an operator needs in order to act.
package enum EventLogError: Error, Hashable, Sendable {
    /// Bytes that were once written whole are not what they were. `sequence` is the first event that cannot be read.
    case damaged(file: String, offset: UInt64, sequence: UInt64, reason: String)
    /// Another writer has the log.
    case alreadyOpen(name: String, directory: String, process: Int32?)
    /// No room; nothing was appended, and the log is as it was before the call.
    case full(file: String, bytesNeeded: Int, errno: Int32)
    /// A system call failed. If it was part of an append, nothing was appended.
    case failed(operation: String, file: String, errno: Int32)
    /// Writing back to the disk failed. What was not yet durable may be lost, so this writer appends no more.
    case syncFailed(file: String, errno: Int32)
    /// More than a limit of ``EventLogLimits``; nothing was appended.
    case tooLarge(String, bytes: Int, bytesMax: Int)
    /// A log made by another version of Belfry.
    case unsupportedFormat(file: String, version: Int)
    /// A sequence that the log no longer holds. `first` is the oldest that it does.
    case gone(directory: String, sequence: UInt64, first: UInt64)
    /// A name that is not 1 to 64 of `A-Z a-z 0-9 . _ -`, or begins with a dot.
    case invalidName(String)
    /// The folder holds no log.
    case notALog(directory: String)
    /// The folder holds a log's segments, but not the `log.json` that tells whose they are.
    case withoutManifest(directory: String)
    /// A log's `settings.ndjson` is not what a stage wrote there. The log itself is not concerned.
    case wrongSettings(file: String, line: Int, reason: String)
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
        case .failed(let operation, let file, let code): "cannot \(operation) \(file): \(EventLogError.text(code))"
        case .syncFailed(let file, let code): "cannot make \(file) durable: \(EventLogError.text(code))"
        case .tooLarge(let what, let bytes, let bytesMax): "\(what) has \(bytes) bytes, and \(bytesMax) are allowed"
        case .unsupportedFormat(let file, let version): "\(file) has format \(version)"
        case .gone(let directory, let sequence, let first):
            "sequence \(sequence) is no longer in \(directory), which begins at \(first)"
        case .invalidName(let name): "'\(name)' cannot name a log"
        case .notALog(let directory): "\(directory) holds no log"
        case .withoutManifest(let directory): "\(directory)/log.json is missing, and segments of a log lie beside it"
        case .wrongSettings(let file, let line, let reason): "\(file), line \(line): \(reason)"
        }
    }

    private var hint: String {
        switch self {
        case .damaged:
            "restore the log's folder from a copy, or see what 'belfry log repair' on it would cost: it keeps what is "
                + "before the damage"
        case .alreadyOpen: "stop that process, or give this one another folder"
        case .full: "nothing was appended; make room, or raise the quota or limit"
        case .failed: "check the folder's owner, mode and disk"
        case .syncFailed: "check the disk, then start again: the log goes on from what is on it"
        case .tooLarge: "nothing was appended; send less at once"
        case .unsupportedFormat: "this version reads format \(BatchFormat.version)"
        case .gone(_, _, let first): "start at sequence \(first), or from a snapshot"
        case .invalidName: "use 1 to 64 of A-Z a-z 0-9 . _ -, not a dot first"
        case .notALog: "check the path"
        case .withoutManifest(let directory):
            "restore it from a copy, or see whether 'belfry log repair \(directory)' finds what it must say"
        case .wrongSettings:
            "restore the file from a copy, or remove it alone: the settings in the pipeline file then count for all of "
                + "the log's past"
        }
    }

    private static func text(_ code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

extension EventLogError {
    /// Whether a call failed because the disk, the quota or the file-size limit is used up.
    package static func isLackOfRoom(_ code: Int32) -> Bool { [ENOSPC, EDQUOT, EFBIG].contains(code) }

    /// From `errno`, just after a failed call.
    static func lastFailure(_ operation: String, _ file: String) -> EventLogError {
        .failed(operation: operation, file: file, errno: errno)
    }
}
