import Foundation
import Glibc
import PipelineRuntime
import Synchronization

/// A program that runs a stage for a replay. Its standard input and output are one socket. It shares the replay's
/// standard error.
final class WorkerProcess {
    private let pipe: WorkerPipe
    private let stage: String
    private let program: String
    private let child: ChildProcess
    private let socket: Int32
    private let replyTimeout: Duration

    private static let exitTimeout = DispatchTimeInterval.seconds(2)

    /// - Parameter replyTimeout: How long one read from the program, or one write to it, may take.
    init(_ command: [String], stage: String, replyTimeout: Duration) throws {
        (self.stage, self.replyTimeout, program) = (stage, replyTimeout, command.first ?? "")
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw ReplayError.worker(stage: stage, "cannot make a socket: \(String(cString: strerror(errno)))")
        }
        socket = ends[0]
        pipe = WorkerPipe(input: ends[0], output: ends[0], isSocket: true)
        WorkerProcess.setTimeouts(of: ends[0], to: replyTimeout)
        // An open copy of the program's end would hide that the program has closed it.
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

    private static func setTimeouts(of socket: Int32, to timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        var time = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// - Parameter task: What the program has to do, for error messages.
    func send(_ request: WorkerRequest, task: () -> String) throws(ReplayError) {
        do throws(WorkerPipe.Failure) { try pipe.send(request) } catch { throw replayError(error, task()) }
    }

    /// - Parameter task: What the program has to do, for error messages.
    func receive(task: () -> String) throws(ReplayError) -> WorkerReply {
        do throws(WorkerPipe.Failure) { return try pipe.receiveReply() } catch { throw replayError(error, task()) }
    }

    private func replayError(_ failure: WorkerPipe.Failure, _ task: String) -> ReplayError {
        .worker(stage: stage, "\(program) \(handle(failure)) (it had to \(task))")
    }

    /// Kills a program that hangs or breaks the protocol.
    ///
    /// - Returns: What happened, for the error message.
    private func handle(_ failure: WorkerPipe.Failure) -> String {
        switch failure {
        case .ended: return exit
        case .timedOut:
            child.signal(SIGKILL)
            return "did not reply within \(replyTimeout), and was killed"
        case .failed(let code): return "cannot be reached: \(String(cString: strerror(code)))"
        case .invalidMessage(let reason):
            child.signal(SIGKILL)
            return "does not speak the protocol of replay workers: \(reason)"
        }
    }

    private var exit: String {
        child.wait(atMost: WorkerProcess.exitTimeout)?.text ?? "closed its standard output, but still runs"
    }
}
