import EventLog
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import PipelineRuntime

/// A write of a small text file leaves its old or its new text, even if a call fails.
@Suite struct AtomicTextFileTests {
    private let folder: Folder
    private var path: String { folder.file("consumers.json") }

    init() throws { folder = try Folder() }

    private func read() throws -> String? { try AtomicTextFile.read(path, bytesMax: 1_000) }

    @Test func `the whole text is written, even if each call writes only one byte or is interrupted`() throws {
        var calls = FileCalls()
        let real = calls.write
        let count = Mutex(0)
        calls.write = { file, parts, _, offset in
            let isInterrupted = count.withLock { count in
                count += 1
                return count % 3 == 0
            }
            guard !isInterrupted else {
                errno = EINTR
                return -1
            }
            var part = iovec(iov_base: parts[0].iov_base, iov_len: 1)
            return real(file, &part, 1, offset)
        }
        try AtomicTextFile.write("a text of some length\n", to: path, calls: calls)
        #expect(try read() == "a text of some length\n")
    }

    @Test func `a write that fails before or at the rename leaves the old text and no unfinished file`() throws {
        try AtomicTextFile.write("old\n", to: path)
        for failure in [EIO, ENOSPC] {
            for (name, calls) in Self.failing(with: failure) {
                #expect(
                    throws: AtomicTextFileError.failed("write", path + (name == "rename" ? "" : ".new"), failure),
                    "\(name)"
                ) {
                    try AtomicTextFile.write("new\n", to: path, calls: calls)
                }
                #expect(try read() == "old\n", "\(name)")
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["consumers.json"], "\(name)")
            }
        }
    }

    private static func failing(with code: Int32) -> [(String, FileCalls)] {
        @Sendable func fail() -> Int32 {
            errno = code
            return -1
        }
        var (open, write, sync, rename) = (FileCalls(), FileCalls(), FileCalls(), FileCalls())
        open.open = { _, _ in fail() }
        write.write = { _, _, _, _ in Int(fail()) }
        sync.syncAll = { _ in fail() }
        rename.rename = { _, _ in fail() }
        return [("open", open), ("write", write), ("sync", sync), ("rename", rename)]
    }

    @Test func `the file's contents are durable before its name, and its name before the write returns`() throws {
        let done = Mutex<[String]>([])
        var calls = FileCalls()
        calls.syncAll = { file in
            var status = stat()
            fstat(file, &status)
            done.withLock { $0.append(status.st_mode & S_IFMT == S_IFDIR ? "folder" : "file") }
            return fsync(file)
        }
        calls.rename = { from, to in
            done.withLock { $0.append("rename") }
            return Glibc.rename(from, to)
        }
        try AtomicTextFile.write("text\n", to: path, calls: calls)
        #expect(done.withLock { $0 } == ["file", "rename", "folder"])
    }

    @Test func `the error for a file that is too long or not UTF-8 names the file`() throws {
        let text = String(repeating: "x", count: 1_000)
        try folder.write(text, to: "consumers.json")
        #expect(try read() == text)
        try folder.write(text + "x", to: "consumers.json")
        #expect(throws: AtomicTextFileError.tooLarge(path, bytesMax: 1_000)) { try read() }
        try Data([0x7B, 0xFF, 0x7D]).write(to: URL(fileURLWithPath: path))
        #expect(throws: AtomicTextFileError.notWrittenByBelfry(path)) { try read() }
        #expect(AtomicTextFileError.tooLarge(path, bytesMax: 1_000).description.contains(path))
        #expect(try AtomicTextFile.read(folder.file("none"), bytesMax: 10) == nil)
    }
}
