import Glibc

/// A program in the same folder as the running one.
package struct SiblingProgram {
    package let path: String

    /// - Throws: ``ToolFailure`` with status 69 if the program is missing or not executable. The message contains the
    ///   command that builds the program.
    package init(_ name: String, beside program: String = SiblingProgram.running) throws(ToolFailure) {
        let folder = program.lastIndex(of: "/").map { program[..<$0] } ?? "."
        path = "\(folder)/\(name)"
        guard access(path, X_OK) == 0 else {
            let build = "swift build\(BuildKind.isDebug ? "" : " -c release") --product \(name)"
            throw ToolFailure(.unavailable, "\(path) is missing or not executable; build it: \(build)")
        }
    }

    /// The path of the running program.
    package static var running: String {
        guard let path = realpath("/proc/self/exe", nil) else { return CommandLine.arguments[0] }
        defer { free(path) }
        return String(cString: path)
    }

    /// Replaces this process by the program, which gets the signals and the terminal.
    ///
    /// - Throws: ``ToolFailure`` with 69 if the program cannot start.
    package func replaceThisProcess(_ arguments: [String]) throws(ToolFailure) -> Never {
        execv(path, ([path] + arguments).map { strdup($0) } + [nil])
        throw ToolFailure(.unavailable, "cannot start \(path): \(String(cString: strerror(errno)))")
    }
}
