import EventLog
import Glibc
import PipelineKit

/// The system calls that change a file, and the mode of new files. Tests replace the calls by calls that fail.
struct FileCalls: Sendable {
    var write: @Sendable (CInt, UnsafeRawPointer, Int) -> Int = { Glibc.write($0, $1, $2) }
    var truncate: @Sendable (CInt, off_t) -> CInt = { ftruncate($0, $1) }
    /// The mode of new files and folders.
    var mode = DataMode.owner

    func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) throws(SystemError) {
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            let count = uninterrupted { write(descriptor, start, rest.count) }
            guard count >= 0 else { throw .last }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }
}

/// An error of a system call, in the system's words.
struct SystemError: Error, Hashable, CustomStringConvertible {
    let code: CInt

    static var last: SystemError { SystemError(code: errno) }

    var description: String { String(cString: strerror(code)) }
}

enum Folder {
    /// Makes the folders that lead to a file.
    static func make(for path: String, _ mode: DataMode) throws(SystemError) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        if let code = mode.makeFolders(String(path[..<slash])) { throw SystemError(code: code) }
    }
}

extension TransportError {
    static func unwritable(_ path: String, _ error: SystemError) -> TransportError {
        TransportError("cannot write \(path): \(error); choose another path or change who may write there")
    }
}
