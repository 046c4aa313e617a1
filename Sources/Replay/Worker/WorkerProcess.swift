import Foundation
import Glibc
import PipelineRuntime
import Synchronization

/// A program that does a stage's work for a replay: its standard input and output are one socket.
///
/// What it writes to standard error is seen by whoever runs the replay.
final class WorkerProcess {
    let pipe: WorkerPipe
    private let stage: String
    private let program: String
    private let child: ChildProcess
    private let socket: Int32
    private let patience: Duration

    private static let grace = DispatchTimeInterval.seconds(2)

    /// - Parameter patience: How long it may take over one answer.
    init(_ command: [String], stage: String, patience: Duration) throws {
        (self.stage, self.patience, program) = (stage, patience, command.first ?? "")
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw ReplayError.worker(stage: stage, "cannot make a socket: \(String(cString: strerror(errno)))")
        }
        socket = ends[0]
        pipe = WorkerPipe(input: ends[0], output: ends[0], isSocket: true)
        WorkerProcess.wait(ends[0], atMost: patience)
        // Or its end would not be noticed.
        defer { close(ends[1]) }
        do throws(ChildProcessError) { child = try ChildProcess(command, standard: .descriptor(ends[1])) } catch {
            close(ends[0])
            throw ReplayError.worker(stage: stage, "\(error)")
        }
    }

    deinit {
        close(socket)
        child.signal(SIGTERM)
    }

    private static func wait(_ socket: Int32, atMost patience: Duration) {
        let (seconds, attoseconds) = patience.components
        var time = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// - Parameter doing: What it was at, for whoever reads the error.
    func exchange<Result>(_ doing: () -> String, _ body: (WorkerPipe) throws(WorkerPipe.Failure) -> Result)
        throws(ReplayError) -> Result
    {
        do throws(WorkerPipe.Failure) { return try body(pipe) } catch {
            throw .worker(stage: stage, "\(program) \(text(error)) (it was to \(doing()))")
        }
    }

    private func text(_ failure: WorkerPipe.Failure) -> String {
        switch failure {
        case .ended: return "ended: it \(exit)"
        case .silent:
            child.signal(SIGKILL)
            return "gave no answer for \(patience), and was killed"
        case .failed(let code): return "cannot be talked to: \(String(cString: strerror(code)))"
        case .nonsense(let reason):
            child.signal(SIGKILL)
            return "does not speak the protocol of replay workers: \(reason)"
        }
    }

    private var exit: String {
        child.wait(atMost: WorkerProcess.grace)?.text ?? "closed its standard output"
    }
}
