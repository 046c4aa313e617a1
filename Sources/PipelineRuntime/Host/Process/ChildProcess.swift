import CSpawn
import Dispatch
import EventLog
import Foundation
import Glibc
import Synchronization

/// A child process, which starts at once. ``wait()`` blocks no thread of the cooperative pool.
///
/// Besides the descriptors in its ``Standard``, the child inherits this process's standard error and no other
/// descriptor, even if other threads start processes at the same time. Foundation's `Process` does not promise that.
package final class ChildProcess: Sendable {
    package struct Exit: Sendable, Hashable {
        /// The exit status; if a signal ended the process, the number of the signal.
        package var status: Int32
        package var wasSignalled: Bool
        package var ranFor: Duration

        package var text: String { wasSignalled ? "was ended by signal \(status)" : "exited with status \(status)" }
    }

    /// The child's standard input and output.
    package enum Standard: Sendable {
        /// The input is a socket that closes when this process ends, even by a crash. So a child that watches its input
        /// never outlives this process. See ``SupervisorSocket``. The output is this process's descriptor `output`.
        case lifeline(output: Int32)
        /// Both are this descriptor.
        case descriptor(Int32)
    }

    package let pid: Int32
    private let started = ContinuousClock.now
    private let exit = Mutex(Exit?.none)
    private let ended = DispatchGroup()
    /// This process's end of the lifeline; -1 without a lifeline.
    private let lifeline: Int32

    /// - Throws: ``ChildProcessError`` if the program does not exist or cannot be started.
    package init(
        _ command: [String], directory: String? = nil, environment: [String: String] = [:],
        standard: Standard = .lifeline(output: STDERR_FILENO)
    ) throws(ChildProcessError) {
        guard let program = command.first.flatMap({ ChildProcess.find($0) }) else {
            let program = command.first ?? ""
            throw ChildProcessError(program: program, reason: ChildProcess.reasonForNotFinding(program))
        }
        var ends: [Int32] = [-1, -1]
        if case .lifeline = standard,
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) != 0
        {
            throw ChildProcessError(program: program, reason: String(cString: strerror(errno)))
        }
        defer { if ends[0] >= 0 { close(ends[0]) } }
        lifeline = ends[1]
        do throws(ChildProcessError) {
            pid = try ChildProcess.spawn(
                program, Array(command.dropFirst()), directory, environment,
                descriptors: standard.descriptors(ends[0]))
        } catch {
            if ends[1] >= 0 { close(ends[1]) }
            throw error
        }
        ended.enter()
        Thread.detachNewThread { self.watch() }
    }

    deinit { if lifeline >= 0 { close(lifeline) } }

    private static func spawn(
        _ program: String, _ arguments: [String], _ directory: String?, _ environment: [String: String],
        descriptors: [(from: Int32, to: Int32)]
    ) throws(ChildProcessError) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (from, to) in descriptors { posix_spawn_file_actions_adddup2(&actions, from, to) }
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        if let directory { posix_spawn_file_actions_addchdir_np(&actions, directory) }
        var attributes = ChildProcess.attributes()
        defer { posix_spawnattr_destroy(&attributes) }
        let all = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        // `posix_spawn` would look up a relative path in the child's folder.
        let program = URL(fileURLWithPath: program).path
        let words = ([program] + arguments).map { strdup($0) }
        let settings = all.map { strdup("\($0)=\($1)") }
        defer { for text in words + settings { free(text) } }
        var child: Int32 = 0
        let code = posix_spawn(&child, program, &actions, &attributes, words + [nil], settings + [nil])
        guard code == 0 else {
            throw ChildProcessError(program: program, reason: String(cString: strerror(code)))
        }
        return child
    }

    /// Without these attributes, a child would ignore the signals that this process ignores, and block the signals that
    /// the calling thread blocks. Threads of Swift's pool block most signals, including SIGTERM.
    private static func attributes() -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        return attributes
    }

    /// Waits for the exit, then reaps the process and notes the exit under one lock. So ``signal(_:)`` never reaches
    /// another process with the same number.
    private func watch() {
        var info = siginfo_t()
        _ = uninterrupted { waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) }
        exit.withLock { exit in
            var status: Int32 = 0
            _ = uninterrupted { waitpid(pid, &status, 0) }
            let number = status & 0x7f
            exit = Exit(
                status: number == 0 ? status >> 8 & 0xff : number, wasSignalled: number != 0, ranFor: .now - started)
        }
        ended.leave()
    }

    package func signal(_ number: Int32) {
        exit.withLock { if $0 == nil { kill(pid, number) } }
    }

    /// Closes the child's standard input, if it is a lifeline.
    package func endInput() { if lifeline >= 0 { shutdown(lifeline, Int32(SHUT_WR)) } }

    /// Calls `body` with this process's end of the lifeline, which stays open during the call.
    func withSocket<Result>(_ body: (SupervisorSocket) -> Result) -> Result {
        withExtendedLifetime(self) { body(SupervisorSocket(descriptor: lifeline)) }
    }

    package func wait() async -> Exit {
        await withCheckedContinuation { continuation in
            ended.notify(queue: .global()) { continuation.resume(returning: self.noted) }
        }
    }

    /// Waits for the child's end and blocks the thread. Nil if the child still runs after `timeout`.
    package func wait(atMost timeout: DispatchTimeInterval) -> Exit? {
        _ = ended.wait(timeout: .now() + timeout)
        return exited
    }

    /// How the child ended; nil while it runs.
    package var exited: Exit? { exit.withLock { $0 } }

    private var noted: Exit {
        guard let exited else { preconditionFailure("a child's end was announced before its exit was noted") }
        return exited
    }

    /// The path of a program that is given as a path or by a name in PATH; nil if there is no such executable file.
    package static func find(_ program: String) -> String? {
        if program.contains("/") { return FileManager.default.isExecutableFile(atPath: program) ? program : nil }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(program)" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    /// Why ``find(_:)`` found no such program.
    static func reasonForNotFinding(_ program: String) -> String {
        program.contains("/")
            ? "it is not an executable file" : "no folder of PATH has an executable file of this name"
    }
}

extension ChildProcess.Standard {
    fileprivate func descriptors(_ lifeline: Int32) -> [(from: Int32, to: Int32)] {
        switch self {
        case .lifeline(let output): [(lifeline, STDIN_FILENO), (output, STDOUT_FILENO)]
        case .descriptor(let one): [(one, STDIN_FILENO), (one, STDOUT_FILENO)]
        }
    }
}

package struct ChildProcessError: Error, CustomStringConvertible {
    package let program: String
    package let reason: String

    package var description: String { "cannot start \(program): \(reason)" }
}
