import BelfryTool
import Glibc
import PipelineRuntime
import TestSupport
import Testing

/// A command of `belfry` that runs in the process of the tests. Tests of signals, terminals and the end of a process
/// need a ``Program``.
enum Command {
    /// Runs a command until it ends.
    ///
    /// - Parameter lines: The standard input of the command.
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
