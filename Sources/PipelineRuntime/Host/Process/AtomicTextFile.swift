import EventLog
import Glibc

/// Small files that are written whole or not at all, and durably.
package enum AtomicTextFile {
    /// Nil where there is no such file.
    ///
    /// - Throws: ``AtomicTextFileError``, also where the file holds more than that: a part of it would be another text.
    static func read(_ path: String, bytesMax: Int) throws(AtomicTextFileError) -> String? {
        let file = uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw AtomicTextFileError.failed("read", path, errno)
        }
        defer { close(file) }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while true {
            let count = uninterrupted { Glibc.read(file, &piece, piece.count) }
            guard count >= 0 else { throw AtomicTextFileError.failed("read", path, errno) }
            if count == 0 { break }
            bytes += piece[..<count]
            guard bytes.count <= bytesMax else { throw AtomicTextFileError.tooLarge(path, bytesMax: bytesMax) }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw AtomicTextFileError.unreadable(path) }
        return text
    }

    /// - Throws: ``AtomicTextFileError``; the file is as it was, or holds the text and only its name may not outlive the
    ///   loss of power.
    static func write(_ text: String, to path: String, calls: FileCalls = FileCalls()) throws(AtomicTextFileError) {
        let draft = path + ".new"
        do throws(AtomicTextFileError) {
            try fill(draft, Array(text.utf8), calls)
            guard uninterrupted({ calls.rename(draft, path) }) == 0 else {
                throw AtomicTextFileError.failed("write", path, errno)
            }
        } catch {
            _ = calls.unlink(draft)
            throw error
        }
        try synchronizeFolder(of: path, calls)
    }

    /// Makes a file for its owner alone. Returns when a loss of power takes neither the text nor the name away.
    ///
    /// - Throws: ``AtomicTextFileError``, with `EEXIST` where there is a file, and nothing is made.
    package static func make(_ path: String, holding text: String) throws(AtomicTextFileError) {
        let file = uninterrupted { DataMode.owner.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC) }
        guard file >= 0 else { throw AtomicTextFileError.failed("make", path, errno) }
        defer { close(file) }
        do throws(AtomicTextFileError) {
            try fill(file, Array(text.utf8), path, FileCalls())
            try synchronizeFolder(of: path)
        } catch {
            unlink(path)
            throw error
        }
    }

    private static func fill(_ path: String, _ bytes: [UInt8], _ calls: FileCalls) throws(AtomicTextFileError) {
        let file = uninterrupted { calls.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC) }
        guard file >= 0 else { throw AtomicTextFileError.failed("write", path, errno) }
        defer { close(file) }
        try fill(file, bytes, path, calls)
    }

    private static func fill(
        _ file: Int32, _ bytes: [UInt8], _ path: String, _ calls: FileCalls
    ) throws(AtomicTextFileError) {
        var done = 0
        while done < bytes.count {
            let count = uninterrupted { write(bytes[done...], to: file, at: done, calls) }
            guard count > 0 else { throw AtomicTextFileError.failed("write", path, count == 0 ? EIO : errno) }
            done += count
        }
        guard uninterrupted({ calls.syncAll(file) }) == 0 else {
            throw AtomicTextFileError.failed("write", path, errno)
        }
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to file: Int32, at offset: Int, _ calls: FileCalls) -> Int {
        bytes.withUnsafeBytes { rest in
            var part = iovec(
                iov_base: UnsafeMutableRawPointer(mutating: rest.baseAddress), iov_len: rest.count)
            return calls.write(file, &part, 1, off_t(offset))
        }
    }

    /// Makes the name of a file durable.
    static func synchronizeFolder(of path: String, _ calls: FileCalls = FileCalls()) throws(AtomicTextFileError) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        try synchronize(folder: folder, calls)
    }

    private static func synchronize(folder path: String, _ calls: FileCalls) throws(AtomicTextFileError) {
        let file = uninterrupted { calls.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard file >= 0 else { throw AtomicTextFileError.failed("make durable", path, errno) }
        defer { close(file) }
        guard uninterrupted({ calls.syncAll(file) }) == 0 else {
            throw AtomicTextFileError.failed("make durable", path, errno)
        }
    }
}

package enum AtomicTextFileError: Error, Hashable, CustomStringConvertible {
    case failed(String, String, Int32)
    case tooLarge(String, bytesMax: Int)
    /// `consumers.json`.
    case unreadable(String)

    package var description: String {
        switch self {
        case .failed(let verb, let path, let code): "cannot \(verb) \(path): \(String(cString: strerror(code)))"
        case .tooLarge(let path, let bytesMax):
            "\(path) has more than \(bytesMax) bytes, so it is not what Belfry wrote there"
        case .unreadable(let path):
            "\(path) is not what Belfry wrote there; remove this file alone: it is written anew, and until then nothing "
                + "of the log is removed"
        }
    }
}
