import Foundation

/// Makes, reads and removes files without the code of the log, as a baseline for `bench log` and `bench replay`.
enum PlainFile {
    static func create(_ path: String) throws -> Int32 {
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("make", path) }
        return file
    }

    /// Removes a file, or a folder and its files. Does nothing if the path does not exist.
    static func remove(_ path: String) throws {
        guard access(path, F_OK) == 0 else { return }
        do { try FileManager.default.removeItem(atPath: path) } catch { throw failure("remove", path) }
    }

    /// Reads a file in pieces of 256 KiB, as the log's reader does, and copies each piece once.
    ///
    /// - Returns: The size of the file in bytes.
    static func scan(_ path: String) throws -> Int {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure("read", path) }
        defer { close(file) }
        let pieceBytes = 256 << 10
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 64)
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 64)
        defer {
            piece.deallocate()
            copy.deallocate()
        }
        var bytes = 0
        while true {
            let count = pread(file, piece.baseAddress, pieceBytes, off_t(bytes))
            guard count >= 0 else { throw failure("read", path) }
            if count == 0 { return bytes }
            copy.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece[..<count]))
            bytes += count
        }
    }

    static func failure(_ verb: String, _ path: String) -> ToolFailure {
        ToolFailure(.inputOutput, "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}
