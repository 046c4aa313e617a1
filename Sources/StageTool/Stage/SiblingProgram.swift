import Glibc

/// A program that was built beside the one that runs.
package struct SiblingProgram {
    package let path: String

    /// - Throws: ``ToolFailure`` with 69 and how to build it, where it is missing.
    package init(_ name: String, beside program: String = SiblingProgram.running) throws(ToolFailure) {
        let folder = program.lastIndex(of: "/").map { program[..<$0] } ?? "."
        path = "\(folder)/\(name)"
        guard access(path, X_OK) == 0 else {
            let build = "swift build\(BuildKind.isDebug ? "" : " -c release") --product \(name)"
            throw ToolFailure(.unavailable, "there is no program \(path); build it: \(build)")
        }
    }

    /// The program that this process runs.
    package static var running: String {
        guard let path = realpath("/proc/self/exe", nil) else { return CommandLine.arguments[0] }
        defer { free(path) }
        return String(cString: path)
    }

    /// Runs it as this process: signals, the terminal and the exit status are its own.
    ///
    /// - Throws: ``ToolFailure`` with 69, where it cannot start.
    package func replaceThisProcess(_ arguments: [String]) throws(ToolFailure) -> Never {
        execv(path, ([path] + arguments).map { strdup($0) } + [nil])
        throw ToolFailure(.unavailable, "cannot start \(path): \(String(cString: strerror(errno)))")
    }
}
