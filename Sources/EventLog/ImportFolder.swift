import Glibc

/// Where an import grows until it is whole: a folder `.import` beside the logs that it becomes.
///
/// Whatever ends an import before ``publish()``, no log comes of it, and the next one begins anew.
package final class ImportFolder {
    /// The folder that the logs are for. Made where it is missing.
    package let target: String
    private let staging: LogDirectory
    private let lock: WriterLock
    private var names: [String] = []

    /// - Throws: ``EventLogError/alreadyOpen(name:directory:process:)`` where another import is at work in it.
    package init(_ target: String) throws(EventLogError) {
        self.target = target
        staging = LogDirectory(path: target + "/.import")
        try staging.create(.owner)
        lock = try WriterLock("import", staging)
        try clear()
    }

    /// Removes what was not published.
    deinit {
        // What stays behind is removed by the next import.
        do throws(EventLogError) { try clear() } catch { return }
        unsafe unlink(staging.lockPath)
        unsafe rmdir(staging.path)
    }

    /// The folder in which a log is made.
    ///
    /// - Throws: ``LogImportError`` where there is a log of that name already.
    func place(for name: String) throws -> LogDirectory {
        let final = LogDirectory(path: target + "/" + name)
        if try OpenFile.ifPresent(final.manifestPath) != nil { throw LogImportError("\(final.path) is a log already") }
        guard try LogDirectory.entries(of: final.path).isEmpty else {
            throw LogImportError("\(final.path) is there already and not empty")
        }
        guard !names.contains(name) else { throw LogImportError("there is a log \(name) in it already") }
        names.append(name)
        return LogDirectory(path: staging.path + "/" + name)
    }

    /// Puts all logs in their places, each in one step. To be called when all are finished.
    package func publish() throws(EventLogError) {
        try staging.synchronize()
        for name in names {
            guard uninterrupted({ unsafe rename("\(staging.path)/\(name)", "\(target)/\(name)") }) == 0 else {
                throw .lastFailure("make", "\(target)/\(name)")
            }
        }
        try LogDirectory(path: target).synchronize()
    }

    private func clear() throws(EventLogError) {
        for name in try LogDirectory.entries(of: staging.path) where name != "lock" {
            try ImportFolder.remove(staging.path + "/" + name)
        }
    }

    private static func remove(_ path: String) throws(EventLogError) {
        if unsafe unlink(path) == 0 || errno == ENOENT { return }
        guard errno == EISDIR else { throw .lastFailure("remove", path) }
        for name in try LogDirectory.entries(of: path) { try remove(path + "/" + name) }
        guard unsafe rmdir(path) == 0 else { throw .lastFailure("remove", path) }
    }
}
