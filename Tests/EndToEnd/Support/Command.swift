import BelfryTool
import Glibc
import PipelineRuntime
import TestSupport
import Testing

/// A command of `belfry` in the tests' own process: for what it reads, prints and returns. What signals, terminals and
/// the end of a process do to it takes a ``Program``.
enum Command {
    /// Runs one to its end.
    ///
    /// - Parameter lines: Its standard input.
    static func run(_ arguments: [String], input lines: String = "") async throws -> Program.Result {
        let (input, output, errors) = (try NamelessFile(lines), try NamelessFile(), try NamelessFile())
        let descriptors = StandardDescriptors(
            input: input.descriptor, output: output.descriptor, error: errors.descriptor)
        let status = try await StandardDescriptors.$current.withValue(descriptors) {
            try await Tool.belfry(arguments)
        }
        return Program.Result(status: status, output: output.text, errors: errors.text)
    }
}

private final class NamelessFile {
    let descriptor: Int32

    init(_ text: String = "") throws {
        var name = Array((Folder.parent + "/belfry-XXXXXX").utf8CString)
        descriptor = mkstemp(&name)
        try #require(descriptor >= 0 && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0)
        unlink(name)
        let bytes = Array(text.utf8)
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        lseek(descriptor, 0, SEEK_SET)
    }

    deinit { close(descriptor) }

    var text: String {
        var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
