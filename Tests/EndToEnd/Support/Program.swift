import Foundation
import Synchronization
import TestSupport
import Testing

/// A running program, usually one of Belfry's executables, with its input, output and exit status.
///
/// The process is killed with SIGKILL when this object is released.
final class Program: Sendable {
    struct Result: Sendable {
        var status: Int32
        var output: String
        var errors: String
    }

    private let process: Process
    private let input = Pipe()
    private let output = OutputCollector()
    private let errors = OutputCollector()
    private let ended = AsyncStream.makeStream(of: Int32.self)

    /// - Parameters:
    ///   - name: The name of one of Belfry's executables, or the path of another program.
    ///   - directory: The folder that the program starts in.
    ///   - closingOutput: Whether the reader of standard output is closed before the program starts.
    ///   - onTerminal: Whether standard output is a terminal.
    ///   - umask: The program's umask, in octal; nil: the umask of the tests.
    init(
        _ name: String, _ arguments: [String], in directory: String? = nil, closingOutput: Bool = false,
        onTerminal: Bool = false, umask: String? = nil
    ) throws {
        Cost.spend(onProgram: arguments)
        process = Process()
        let program = name.hasPrefix("/") ? name : try Program.folder() + "/" + name
        process.executableURL = URL(fileURLWithPath: umask == nil ? program : "/bin/sh")
        process.arguments =
            umask.map { ["-c", "umask \($0) && exec \"$0\" \"$@\"", program] + arguments } ?? arguments
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        process.standardInput = input
        let terminal = onTerminal ? try output.terminal() : nil
        if let terminal {
            process.standardOutput = terminal
        } else {
            process.standardOutput = try output.pipe(isClosed: closingOutput)
        }
        process.standardError = try errors.pipe()
        process.terminationHandler = { [ended] in
            ended.continuation.yield($0.terminationReason == .exit ? $0.terminationStatus : -$0.terminationStatus)
        }
        try process.run()
        try terminal?.close()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// Runs a program to its end.
    ///
    /// - Parameter lines: The program's standard input.
    static func run(
        _ name: String, _ arguments: [String], input lines: String = "", in directory: String? = nil,
        onTerminal: Bool = false
    ) async throws -> Result {
        let program = try Program(name, arguments, in: directory, onTerminal: onTerminal)
        try program.write(lines)
        try program.endInput()
        return await program.result()
    }

    var pid: Int32 { process.processIdentifier }

    func write(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }

    func endInput() throws { try input.fileHandleForWriting.close() }

    var isRunning: Bool { process.isRunning }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Suspends the program with SIGSTOP, and returns when its main thread has stopped.
    func suspend() throws {
        signal(SIGSTOP)
        let path = "/proc/\(process.processIdentifier)/stat"
        while try !String(contentsOfFile: path, encoding: .utf8).contains(") T ") { usleep(1_000) }
    }

    /// Waits for the program's end. If a signal ended the program, the status is the signal's negative number.
    func result() async -> Result {
        await killingWhenCancelled {
            var status: Int32 = 0
            for await number in ended.stream.prefix(1) { status = number }
            return Result(status: status, output: await output.whole(), errors: await errors.whole())
        }
    }

    /// Kills the program when the test is cancelled, for example after its time limit, so that the test stops waiting.
    private func killingWhenCancelled<Value: Sendable>(_ body: () async -> Value) async -> Value {
        await withTaskCancellationHandler {
            await body()
        } onCancel: {
            self.killAndStopReading()
        }
    }

    private func killAndStopReading() {
        signal(SIGKILL)
        output.end()
        errors.end()
    }

    /// Waits for a whole line on standard error that contains a text, and returns the first such line since the program
    /// started. Nil if standard error ends without such a line.
    @discardableResult
    func waitForMessage(_ text: String) async -> String? {
        await killingWhenCancelled { await errors.line(containing: text) }
    }

    /// Waits for a whole line on standard output that contains a text, and returns the first such line since the
    /// program started. Nil if the output ends without such a line.
    @discardableResult
    func waitForOutputLine(_ text: String) async -> String? {
        await killingWhenCancelled { await output.line(containing: text) }
    }

    /// Whether the program has written nothing to standard output yet.
    var hasNoOutput: Bool { output.isEmpty }

    /// The folder of the executables: the nearest folder above the tests that contains `belfry`.
    static func folder() throws -> String {
        let bundle = CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        var folder = URL(fileURLWithPath: bundle).deletingLastPathComponent()
        while folder.path != "/" {
            if FileManager.default.isExecutableFile(atPath: folder.path + "/belfry") { return folder.path }
            folder.deleteLastPathComponent()
        }
        throw MissingExecutables(near: bundle)
    }
}

struct NoTerminal: Error { let errno: Int32 }
struct MissingExecutables: Error { let near: String }

/// Collects the output of a program.
private final class OutputCollector: Sendable {
    private struct State {
        var text = ""
        var isWhole = false
        var waiters: [(String, CheckedContinuation<String?, Never>)] = []
    }

    private let state = Mutex(State())

    func pipe(isClosed: Bool = false) throws -> Pipe {
        let pipe = Pipe()
        if isClosed {
            try pipe.fileHandleForReading.close()
            append("", isLast: true)
            return pipe
        }
        Thread.detachNewThread { [self] in
            while true {
                let data = pipe.fileHandleForReading.availableData
                if data.isEmpty { break }
                append(String(decoding: data, as: UTF8.self), isLast: false)
            }
            // `Process` keeps its pipes open after its child has ended.
            try? pipe.fileHandleForReading.close()
            append("", isLast: true)
        }
        return pipe
    }

    /// Makes a terminal, and collects the output of a program that writes to it. The terminal turns each line feed into
    /// CR LF; the collected text has line feeds again.
    ///
    /// - Returns: The program's side of the terminal.
    func terminal() throws -> FileHandle {
        // tty_ioctl(4): TIOCSPTLCK unlocks, TIOCGPTN gives the number below /dev/pts; the macros are not imported.
        let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
        var (locked, number): (CInt, CInt) = (0, 0)
        let reading = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard reading >= 0, ioctl(reading, unlock, &locked) == 0, ioctl(reading, getNumber, &number) == 0,
            case let writing = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC), writing >= 0
        else { throw NoTerminal(errno: errno) }
        Thread.detachNewThread { [self] in
            var block = [UInt8](repeating: 0, count: 4096)
            while case let count = read(reading, &block, block.count), count > 0 {
                append(String(decoding: block[..<count], as: UTF8.self).replacing("\r\n", with: "\n"), isLast: false)
            }
            close(reading)
            append("", isLast: true)
        }
        return FileHandle(fileDescriptor: writing, closeOnDealloc: true)
    }

    var isEmpty: Bool { state.withLock { $0.text.isEmpty } }

    func whole() async -> String {
        _ = await line(containing: nil)
        return state.withLock { $0.text }
    }

    /// Waits for the first whole line that contains `wanted`; nil if the output ends without such a line.
    ///
    /// - Parameter wanted: Nil to wait for the end of the output.
    func line(containing wanted: String?) async -> String? {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                let found = wanted.flatMap { OutputCollector.find($0, in: state.text) }
                if found != nil || state.isWhole { return continuation.resume(returning: found) }
                state.waiters.append((wanted ?? "\u{0}", continuation))
            }
        }
    }

    /// Stops waiting for output, although another process may still have the pipe open.
    func end() { append("", isLast: true) }

    private func append(_ more: String, isLast: Bool) {
        state.withLock { state in
            state.text += more
            state.isWhole = state.isWhole || isLast
            state.waiters.removeAll { wanted, continuation in
                let found = OutputCollector.find(wanted, in: state.text)
                guard found != nil || isLast else { return false }
                continuation.resume(returning: found)
                return true
            }
        }
    }

    private static func find(_ wanted: String, in text: String) -> String? {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first { $0.contains(wanted) }.map(
            String.init)
    }
}
