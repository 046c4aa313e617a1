import Glibc

/// Who may use what a pipeline keeps on the disk. It decides the mode of every folder and file of a data folder, whatever
/// the umask of the process is.
///
/// A file or a folder that exists keeps its mode: `belfry doctor` names those that are wider.
package struct DataMode: Hashable, Sendable {
    /// The permissions of folders, as `0o700`.
    package let folders: UInt32
    /// The permissions of files: those of folders without the right to execute.
    package var files: UInt32 { folders & 0o666 }

    /// Records and tokens are nobody else's to read.
    package static let owner = DataMode(folders: 0o700)

    /// Bits beyond `0o777` are left out.
    package init(folders: UInt32) { self.folders = folders & 0o777 }

    /// The mode that new files of an existing folder get: the folder's own.
    package init(of folder: String) {
        self.init(folders: DataMode.status(of: folder)?.st_mode ?? DataMode.owner.folders)
    }

    /// `open`; a file that it makes gets the mode of ``files``.
    package func open(_ path: UnsafePointer<CChar>, _ flags: CInt) -> CInt {
        guard flags & O_CREAT != 0 else { return unsafe Glibc.open(path, flags) }
        let isExclusive = flags & O_EXCL != 0
        if !isExclusive {
            let file = unsafe Glibc.open(path, flags & ~O_CREAT)
            if file >= 0 || errno != ENOENT { return file }
        }
        let file = unsafe Glibc.open(path, flags | O_EXCL, 0o600)
        guard file >= 0 else {
            // Another process may have made it in between.
            return unsafe errno == EEXIST && !isExclusive ? Glibc.open(path, flags, 0o600) : -1
        }
        unsafe settle(file, files, String(cString: path))
        return file
    }

    /// `mkdir`.
    package func makeFolder(_ path: String) -> CInt {
        guard unsafe mkdir(path, 0o700) == 0 else { return -1 }
        settleFolder(path)
        return 0
    }

    /// Makes a folder and those above it that are missing.
    ///
    /// - Returns: The code of what failed; nil where the folder is there.
    package func makeFolders(_ path: String) -> CInt? {
        guard !path.isEmpty, makeFolder(path) != 0, errno != EEXIST else { return nil }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return errno }
        if let code = makeFolders(String(path[..<slash])) { return code }
        return makeFolder(path) == 0 || errno == EEXIST ? nil : errno
    }

    /// Gives a folder that was made just now its mode.
    package func settleFolder(_ path: String) {
        let folder = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { return }
        defer { close(folder) }
        settle(folder, folders, path)
    }

    /// Gives the file of a socket that was bound just now the mode of ``files``: who may write it may connect.
    package func settleSocket(_ path: String) { unsafe chmod(path, files) }

    /// Sets what the umask may have changed. What root makes in another's folder, as with `sudo belfry log repair`, becomes
    /// that other's, who could not use it otherwise.
    ///
    /// Where a file system knows no modes, the doctor tells.
    private func settle(_ file: CInt, _ mode: UInt32, _ path: String) {
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { return }
        if status.st_mode & 0o777 != mode { fchmod(file, status.st_mode & 0o7000 | mode) }
        guard geteuid() == 0, let folder = DataMode.status(of: LogDirectory.split(path).folder),
            folder.st_uid != status.st_uid
        else { return }
        _ = fchown(file, folder.st_uid, folder.st_gid)
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status : nil
    }
}

extension DataMode {
    /// As `chmod` takes it: what others than the owner may not, as `go-rwx` or `g-w,o-rwx`.
    package var prohibition: String {
        let (group, others) = (DataMode.letters(missingIn: folders >> 3), DataMode.letters(missingIn: folders))
        if group == others { return "go-" + group }
        return [("g-", group), ("o-", others)].filter { !$1.isEmpty }.map { $0 + $1 }.joined(separator: ",")
    }

    private static func letters(missingIn mode: UInt32) -> String {
        let letters: [(letter: String, bit: UInt32)] = [("r", 4), ("w", 2), ("x", 1)]
        return letters.filter { mode & $0.bit == 0 }.map(\.letter).joined()
    }

    /// Whether a mode lets others than the owner do what this one does not.
    package func isExceeded(by mode: UInt32) -> Bool { mode & 0o777 & ~folders != 0 }
}
