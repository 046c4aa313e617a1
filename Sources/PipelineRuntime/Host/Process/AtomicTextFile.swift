import EventLog
import Glibc

/// Reads and writes small text files. ``write(_:to:calls:)`` is durable, and a crash leaves either the old text or the
/// new text. ``make(_:holding:)`` is durable, but a crash may leave a part of the text.
package enum AtomicTextFile {
    /// The file's text; nil if there is no such file. A file that is longer than `bytesMax` or not UTF-8 is an error.
    package static func read(_ path: String, bytesMax: Int) throws(AtomicTextFileError) -> String? {
        guard let bytes = try readBytes(path, bytesMax: bytesMax) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notWrittenByBelfry(path) }
        return text
    }

    /// The file's bytes; nil if there is no such file. A file longer than `bytesMax` is an error.
    static func readBytes(_ path: String, bytesMax: Int = .max) throws(AtomicTextFileError) -> [UInt8]? {
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
            if count == 0 { return bytes }
            bytes += piece[..<count]
            guard bytes.count <= bytesMax else { throw AtomicTextFileError.tooLarge(path, bytesMax: bytesMax) }
        }
    }

    /// - Throws: ``AtomicTextFileError``. The file then has its old text, with one exception. The last step makes the
    ///   new file's name durable. If only this step fails, the file has the new text, but a power failure may bring the
    ///   old text back.
    package static func write(_ text: String, to path: String, calls: FileCalls = FileCalls())
        throws(AtomicTextFileError)
    {
        let draft = path + ".new"
        do throws(AtomicTextFileError) {
            let file = try attempt("write", draft) { calls.open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC) }
            defer { close(file) }
            try fill(file, Array(text.utf8), draft, calls)
            _ = try attempt("write", path) { calls.rename(draft, path) }
        } catch {
            _ = calls.unlink(draft)
            throw error
        }
        try synchronizeFolder(of: path, calls)
    }

    /// Creates a durable file that only its owner can read and write. Not atomic: after a crash the file may have only
    /// a part of the text.
    ///
    /// - Throws: ``AtomicTextFileError``, with `EEXIST` if the file exists. After any error, this call leaves no new
    ///   file.
    package static func make(_ path: String, holding text: String) throws(AtomicTextFileError) {
        let file = try attempt("make", path) { DataMode.owner.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC) }
        defer { close(file) }
        do throws(AtomicTextFileError) {
            try fill(file, Array(text.utf8), path, FileCalls())
            try synchronizeFolder(of: path)
        } catch {
            unlink(path)
            throw error
        }
    }

    private static func attempt(
        _ verb: String, _ path: String, _ call: () -> CInt
    ) throws(AtomicTextFileError) -> CInt {
        let result = uninterrupted(call)
        guard result >= 0 else { throw .failed(verb, path, errno) }
        return result
    }

    private static func fill(
        _ file: Int32, _ bytes: [UInt8], _ path: String, _ calls: FileCalls
    ) throws(AtomicTextFileError) {
        if let code = bytes.withUnsafeBytes({ calls.writeAll($0, to: file) }) { throw .failed("write", path, code) }
        _ = try attempt("write", path) { calls.syncAll(file) }
    }

    /// Makes the name of a file durable.
    package static func synchronizeFolder(
        of path: String, _ calls: FileCalls = FileCalls()
    ) throws(AtomicTextFileError) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let file = try attempt("synchronize", folder) { calls.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        defer { close(file) }
        _ = try attempt("synchronize", folder) { calls.syncAll(file) }
    }
}

package enum AtomicTextFileError: Error, Hashable, CustomStringConvertible {
    case failed(String, String, Int32)
    case tooLarge(String, bytesMax: Int)
    /// The file can be read, but its text is damaged or is not Belfry's.
    case notWrittenByBelfry(String, advice: String? = nil)

    package var description: String {
        switch self {
        case .failed(let verb, let path, let code): "cannot \(verb) \(path): \(String(cString: strerror(code)))"
        case .tooLarge(let path, let bytesMax):
            "\(path) has more than \(bytesMax) bytes, so it is not what Belfry wrote there"
        case .notWrittenByBelfry(let path, let advice):
            "\(path) is not what Belfry wrote there" + (advice.map { "; \($0)" } ?? "")
        }
    }
}

extension FileCalls {
    /// Writes all bytes to a file, from offset 0. Returns nil, or the errno of the failure. After a failure some of the
    /// bytes may be in the file.
    func writeAll(_ bytes: UnsafeRawBufferPointer, to file: CInt) -> CInt? {
        var done = 0
        while done < bytes.count {
            let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + done })
            var part = iovec(iov_base: start, iov_len: bytes.count - done)
            let count = uninterrupted { write(file, &part, 1, off_t(done)) }
            guard count > 0 else { return count == 0 ? EIO : errno }
            done += count
        }
        return nil
    }
}

extension [UInt64] {
    /// The bytes as words in the machine's byte order; bytes beyond the last whole word are left out.
    init(words bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { bytes in
            (0..<bytes.count / 8).map { bytes.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self) }
        }
    }
}
