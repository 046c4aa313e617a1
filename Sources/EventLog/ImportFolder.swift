import Glibc

/// The temporary folder of an import: `.import` in the folder for the logs.
///
/// An import that ends before ``publish()`` leaves no log behind. The next import starts from the beginning.
package final class ImportFolder {
    /// The folder for the logs. The import makes the folder if it is missing.
    package let target: String
    private let staging: LogDirectory
    private let lock: WriterLock
    private var names: [String] = []

    /// - Throws: ``EventLogError/alreadyOpen(name:directory:process:)`` if another import is running.
    package init(_ target: String) throws(EventLogError) {
        self.target = target
        staging = LogDirectory(path: target + "/.import")
        try staging.create(.owner)
        lock = try WriterLock("import", staging)
        try clear()
    }

    /// Removes unpublished logs.
    deinit {
        // The next import removes the files that cannot be removed now.
        do throws(EventLogError) { try clear() } catch { return }
        unsafe unlink(staging.lockPath)
        unsafe rmdir(staging.path)
    }

    /// The temporary folder of a log.
    ///
    /// - Throws: ``LogImportError`` if a log or a folder with files has this name already, or if this import has
    ///   already used the name.
    func temporaryFolder(for name: String) throws -> LogDirectory {
        let final = LogDirectory(path: target + "/" + name)
        if try OpenFile.ifPresent(final.manifestPath) != nil {
            throw LogImportError("\(final.path) is a log already: choose another folder", isNameTaken: true)
        }
        guard try LogDirectory.entries(of: final.path).isEmpty else {
            let reason = "\(final.path) exists already and is not empty: choose another folder"
            throw LogImportError(reason, isNameTaken: true)
        }
        guard !names.contains(name) else { throw LogImportError("this import contains two logs with the name \(name)") }
        names.append(name)
        return LogDirectory(path: staging.path + "/" + name)
    }

    /// Moves the logs into the folder for the logs, each log in one step. Call this method when all logs are finished.
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
