import Glibc

/// The permissions of new folders and files in a data folder. The process's umask does not change them.
///
/// Existing files and folders keep their mode. `belfry doctor` lists the files and folders with wider
/// permissions.
package struct DataMode: Hashable, Sendable {
    /// The permissions of folders, such as `0o700`.
    package let folders: UInt32
    /// The permissions of files: the permissions of folders without the execute bits.
    package var files: UInt32 { folders & 0o666 }

    /// The default: nobody else may read records and tokens.
    package static let owner = DataMode(folders: 0o700)

    /// Ignores bits outside `0o777`.
    package init(folders: UInt32) { self.folders = folders & 0o777 }

    /// The mode for new files and folders in an existing folder: the existing folder's mode; ``owner`` if that mode
    /// cannot be read.
    package init(of folder: String) {
        self.init(folders: DataMode.status(of: folder)?.st_mode ?? DataMode.owner.folders)
    }

    /// Like `open`, but a new file gets the mode ``files``.
    package func open(_ path: UnsafePointer<CChar>, _ flags: CInt) -> CInt {
        guard flags & O_CREAT != 0 else { return unsafe Glibc.open(path, flags) }
        let isExclusive = flags & O_EXCL != 0
        if !isExclusive {
            let file = unsafe Glibc.open(path, flags & ~O_CREAT)
            if file >= 0 || errno != ENOENT { return file }
        }
        let file = unsafe Glibc.open(path, flags | O_EXCL, 0o600)
        guard file >= 0 else {
            // Another process may have made the file in between.
            return unsafe errno == EEXIST && !isExclusive ? Glibc.open(path, flags, 0o600) : -1
        }
        unsafe setModeAndOwner(file, files, String(cString: path))
        return file
    }

    /// Like `mkdir`, but with the mode ``folders``.
    package func makeFolder(_ path: String) -> CInt {
        guard unsafe mkdir(path, 0o700) == 0 else { return -1 }
        setFolderMode(path)
        return 0
    }

    /// Makes a folder and its missing parents.
    ///
    /// - Returns: Nil if the folder exists now; otherwise the `errno` of the failed call. Also nil, but without a
    ///   folder, if there is a file at this path, or if the path is empty.
    package func makeFolders(_ path: String) -> CInt? {
        guard !path.isEmpty, makeFolder(path) != 0, errno != EEXIST else { return nil }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return errno }
        if let code = makeFolders(String(path[..<slash])) { return code }
        return makeFolder(path) == 0 || errno == EEXIST ? nil : errno
    }

    /// Sets the mode of a new folder.
    package func setFolderMode(_ path: String) {
        let folder = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { return }
        defer { close(folder) }
        setModeAndOwner(folder, folders, path)
    }

    /// Sets the mode of a new socket's file. A user who may write to the file may connect to the socket.
    package func setSocketMode(_ path: String) { unsafe chmod(path, files) }

    /// Sets the mode of a new file or folder, because the umask would change a mode given to `open` or `mkdir`. If root
    /// made the file in another user's folder, as with `sudo belfry log repair`, that user becomes the owner, because
    /// otherwise that user could not use the file.
    ///
    /// Errors are ignored, because not all file systems have modes.
    private func setModeAndOwner(_ file: CInt, _ mode: UInt32, _ path: String) {
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
    /// The argument for `chmod` that takes from the group and from others the permissions that this mode does not have,
    /// such as `go-rwx` or `g-w,o-rwx`.
    package var chmodArgument: String {
        let (group, others) = (DataMode.letters(missingIn: folders >> 3), DataMode.letters(missingIn: folders))
        if group == others { return "go-" + group }
        return [("g-", group), ("o-", others)].filter { !$1.isEmpty }.map { $0 + $1 }.joined(separator: ",")
    }

    private static func letters(missingIn mode: UInt32) -> String {
        let letters: [(letter: String, bit: UInt32)] = [("r", 4), ("w", 2), ("x", 1)]
        return letters.filter { mode & $0.bit == 0 }.map(\.letter).joined()
    }

    /// Whether another mode has permissions that this one does not have.
    package func isExceeded(by mode: UInt32) -> Bool { mode & 0o777 & ~folders != 0 }
}
