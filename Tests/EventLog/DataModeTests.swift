import Glibc
import TestSupport
import Testing

@testable import EventLog

@Suite struct DataModeTests {
    private static func mode(of path: String) throws -> UInt32 {
        var status = stat()
        try #require(stat(path, &status) == 0, "\(path)")
        return status.st_mode & 0o7777
    }

    @Test(arguments: [(0o700, 0o600), (0o750, 0o640), (0o770, 0o660), (0o755, 0o644)] as [(UInt32, UInt32)])
    func `new files have the mode of folders without the execute bits`(folders: UInt32, files: UInt32) throws {
        let folder = try Folder()
        let mode = DataMode(folders: folders)
        #expect(mode.files == files)
        #expect(mode.makeFolders(folder.file("a/b")) == nil && mode.makeFolders(folder.file("a/b")) == nil)
        let file = mode.open(folder.file("a/b/file"), O_RDWR | O_CREAT)
        try #require(file >= 0)
        close(file)
        #expect(try Self.mode(of: folder.file("a")) == folders && Self.mode(of: folder.file("a/b")) == folders)
        #expect(try Self.mode(of: folder.file("a/b/file")) == files)
    }

    @Test func `existing files and folders keep their mode`() throws {
        let folder = try Folder()
        try folder.write("x", to: "file")
        chmod(folder.file("file"), 0o644)
        try #require(mkdir(folder.file("wide"), 0o700) == 0 && chmod(folder.file("wide"), 0o777) == 0)
        let file = DataMode.owner.open(folder.file("file"), O_RDWR | O_CREAT | O_TRUNC)
        try #require(file >= 0)
        close(file)
        #expect(DataMode.owner.makeFolders(folder.file("wide/new")) == nil)
        #expect(try Self.mode(of: folder.file("file")) == 0o644 && Self.mode(of: folder.file("wide")) == 0o777)
        #expect(try Self.mode(of: folder.file("wide/new")) == 0o700)
        #expect(DataMode.owner.open(folder.file("file"), O_RDWR | O_CREAT | O_EXCL) == -1 && errno == EEXIST)
    }

    @Test(arguments: [0o700, 0o750] as [UInt32])
    func `a log and the files beside it have the mode that the log was made with`(folders: UInt32) throws {
        let folder = try Folder()
        let writer = try EventLogWriter(
            EventLogOptions(directory: folder.file("logs"), name: "changes", mode: DataMode(folders: folders)))
        try #require(try Array("{}\n".utf8).withUnsafeBytes { try writer.append($0, count: 1, now: .epoch) } == 1)
        let header = SnapshotHeader(
            stage: "match", version: 1, log: writer.identity, upstream: writer.identity, cursor: Cursor(), sequence: 0,
            now: .epoch)
        _ = try Array("state".utf8).withUnsafeBytes {
            try SnapshotStore(logDirectory: writer.directory).write(header, state: $0)
        }
        try LogIndex(
            directory: writer.directory, scheme: KeyScheme(name: "test", version: 1, makeExtractor: { { _, _ in } })
        ).update()
        try writer.close()
        #expect(try Self.mode(of: folder.file("logs")) == folders)
        let names = ["", "/lock", "/log.json", "/00000000000000000001.log", "/snapshots", "/index"]
        for name in names
            + (try Self.entries(writer.directory, "/snapshots") + Self.entries(writer.directory, "/index"))
        {
            let mode = try Self.mode(of: writer.directory + name)
            #expect(mode == folders || mode == DataMode(folders: folders).files, "\(name)")
        }
    }

    private static func entries(_ directory: String, _ folder: String) throws -> [String] {
        let names = try LogDirectory.entries(of: directory + folder).map { folder + "/" + $0 }
        #expect(!names.isEmpty)
        return names
    }

    /// For example, `sudo belfry log repair` makes files as root.
    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func `files that root makes in a user's folder belong to that user`() throws {
        let folder = try Folder()
        try #require(chown(folder.path, 65_534, 65_534) == 0)
        #expect(DataMode.owner.makeFolders(folder.file("logs/changes")) == nil)
        let file = DataMode.owner.open(folder.file("logs/changes/file"), O_RDWR | O_CREAT)
        try #require(file >= 0)
        close(file)
        for name in ["logs", "logs/changes", "logs/changes/file"] {
            var status = stat()
            try #require(stat(folder.file(name), &status) == 0)
            #expect(status.st_uid == 65_534 && status.st_gid == 65_534, "\(name)")
        }
    }

    @Test(
        arguments: [(0o700, "go-rwx"), (0o750, "g-w,o-rwx"), (0o770, "o-rwx"), (0o755, "go-w")] as [(UInt32, String)])
    func `the argument for chmod removes the permissions that the mode does not have`(folders: UInt32, text: String) {
        #expect(DataMode(folders: folders).chmodArgument == text)
        #expect(!DataMode(folders: folders).isExceeded(by: folders))
        #expect(DataMode(folders: folders).isExceeded(by: 0o777))
    }
}
