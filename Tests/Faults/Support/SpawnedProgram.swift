import Glibc
import Synchronization
import TestSupport

/// A program in a process of its own, usually one of Belfry's. Only one thread may use it.
final class SpawnedProgram {
    let pid: Int32
    /// The lines that the program and its children have written to standard error.
    private(set) var lines: [String] = []
    /// Whether standard error is closed, because the program and its children have ended.
    private(set) var isStandardErrorClosed = false
    private let standardError: Int32
    /// The beginning of a line whose end has not come yet.
    private var rest: [UInt8] = []
    private var status: Int32?

    /// - Parameters:
    ///   - output: The file for standard output.
    ///   - input: The file for standard input. Nil closes standard input.
    convenience init(
        _ program: String, _ arguments: [String], output: String = "/dev/null", input: String? = "/dev/null"
    ) throws {
        try self.init([Programs.path(program)] + arguments, output: output, input: input)
    }

    /// - Parameter words: A program's path and its arguments.
    init(_ words: [String], output: String = "/dev/null", input: String? = "/dev/null") throws {
        Cost.spend(onProgram: words)
        (pid, standardError) = try SpawnedProgram.starting.withLock { _ in
            try SpawnedProgram.spawn(words[0], Array(words.dropFirst()), output: output, input: input)
        }
    }

    /// Serializes the starts of processes. Otherwise another child could inherit this child's pipe, and the pipe would
    /// never close.
    private static let starting = Mutex(())

    private static func spawn(
        _ path: String, _ arguments: [String], output: String, input: String?
    ) throws -> (pid: Int32, standardError: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw FaultError("cannot make a pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
        } else {
            posix_spawn_file_actions_addclose(&actions, STDIN_FILENO)
        }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
        let words = ([path] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var child: Int32 = 0
        let code = posix_spawn(&child, path, &actions, nil, words + [nil], environ)
        close(ends[1])
        guard code == 0 else { throw FaultError("cannot start \(path): errno \(code)") }
        return (child, ends[0])
    }

    deinit {
        if status == nil {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        close(standardError)
    }

    func signal(_ number: Int32) { kill(pid, number) }

    /// Reads standard error until the condition is met.
    ///
    /// - Throws: ``FaultError`` with ``lines``, if the condition is not met in time or before standard error is closed;
    ///   errors of the condition.
    func wait(_ what: String, within limit: Duration = .seconds(60), until isMet: () throws -> Bool) throws {
        let end = ContinuousClock.now + limit
        while try !isMet() {
            guard .now < end, !isStandardErrorClosed else {
                let cause = isStandardErrorClosed ? "before the program ended" : "within \(limit)"
                throw FaultError("\(what): not reached \(cause)\n\(lines.joined(separator: "\n"))")
            }
            read(wait: .milliseconds(20))
        }
    }

    /// Reads at most 4096 bytes of standard error. Waits up to `wait` if nothing is there yet.
    func read(wait: Duration) {
        var descriptor = pollfd(fd: standardError, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, Int32(wait / .milliseconds(1))) > 0 else { return }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(standardError, &bytes, bytes.count)
        guard count > 0 else {
            isStandardErrorClosed = count == 0
            return
        }
        rest += bytes[..<count]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: rest[..<end], as: UTF8.self))
            rest.removeSubrange(...end)
        }
    }

    /// Waits until the program and its children have ended.
    ///
    /// - Returns: The exit status, or 128 plus the signal's number.
    func waitUntilExit(within limit: Duration = .seconds(60)) throws -> Int32 {
        let stop = ContinuousClock.now + limit
        while !isStandardErrorClosed {
            guard .now < stop else {
                throw FaultError("the program has not ended within \(limit)\n\(lines.joined(separator: "\n"))")
            }
            read(wait: .milliseconds(50))
        }
        return reap()
    }

    private func reap() -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        waitpid(pid, &raw, 0)
        let code = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : 128 + raw & 0x7F
        status = code
        return code
    }
}

/// Finds Belfry's programs, which are in the folder of the tests' executable.
enum Programs {
    static func path(_ name: String) throws -> String {
        let path = folder + "/" + name
        guard access(path, X_OK) == 0 else {
            throw FaultError("\(path) is not built; `swift build --build-tests` makes it")
        }
        return path
    }

    private static var folder: String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { name in
                name.baseAddress.map { readlink("/proc/self/exe", $0, name.count) }
            }
        }
        let path = String(decoding: buffer.prefix(max(0, count ?? 0)), as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}

struct FaultError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
