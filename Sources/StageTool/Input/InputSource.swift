import Glibc
import PipelineRuntime

/// A file of lines, or standard input as `-`.
package struct InputSource: Hashable, Sendable {
    package static let standard = InputSource(path: "-")

    package var path: String

    package init(path: String) { self.path = path }

    package var isStandardInput: Bool { path == "-" }

    /// The name in messages.
    package var name: String { isStandardInput ? "standard input" : path }

    /// Opens the source for reading.
    ///
    /// - Parameter isPolled: Whether the reader uses `poll`. Then a named pipe is opened without waiting for a writer.
    /// - Throws: ``ToolFailure`` with status 66 if the file cannot be opened or is a directory, or if standard input is
    ///   closed.
    package func open(isPolled: Bool = false) throws(ToolFailure) -> Int32 {
        if isStandardInput { return try InputSource.openStandardInput() }
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | (isPolled ? O_NONBLOCK : 0))
        guard descriptor >= 0 else { throw ToolFailure(.noInput, InputSource.cannotReadMessage(path, errno)) }
        var status = stat()
        guard fstat(descriptor, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR else {
            close(descriptor)
            throw ToolFailure(.noInput, "cannot read \(path): it is a directory; name the files in it")
        }
        return descriptor
    }

    /// Checks that all sources can be opened.
    package static func check(_ sources: [InputSource]) throws(ToolFailure) {
        for source in sources {
            // Opening a named pipe would make its writer start.
            if source.isReadablePipe { continue }
            let descriptor = try source.open()
            if !source.isStandardInput { close(descriptor) }
        }
    }

    private var isReadablePipe: Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO && access(path, R_OK) == 0
    }

    /// If the shell closed standard input (`<&-`), the first descriptor that this process opens gets the number 0. This
    /// descriptor is internal and has no file type. Reading from it would never return.
    private static func openStandardInput() throws(ToolFailure) -> Int32 {
        let descriptor = StandardDescriptors.current.input
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != 0 else {
            throw ToolFailure(
                .noInput, "cannot read standard input: it is closed; name a file, or give /dev/null for no input")
        }
        return descriptor
    }

    package static func cannotReadMessage(_ path: String, _ code: Int32) -> String {
        let reason = String(cString: strerror(code))
        return switch code {
        case ENOENT: "cannot read \(path): no such file; check the path, or give - for standard input"
        case EACCES: "cannot read \(path): permission denied; make it readable for this user"
        default: "cannot read \(path): \(reason)"
        }
    }
}

/// A pipeline file named on the command line.
package enum PipelineArgument {
    /// - Throws: ``ToolFailure`` with status 66 if the file is missing, a directory or not readable.
    package static func check(_ path: String) throws(ToolFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw ToolFailure(.noInput, InputSource.cannotReadMessage(path, errno)) }
            throw ToolFailure(.noInput, "cannot read \(path): no such pipeline file; check the path")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw ToolFailure(.noInput, "cannot read \(path): it is a directory; name a pipeline file in it")
        }
        guard access(path, R_OK) == 0 else { throw ToolFailure(.noInput, InputSource.cannotReadMessage(path, errno)) }
    }
}
