import ArgumentParser
import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import Replay
import Time
import TransportFile

/// The value of `--to`: where the pushes of a replay go.
enum ReplayTarget: ExpressibleByArgument, Equatable {
    case null
    case console
    case file(String)
    case transport(String)

    init?(argument: String) {
        switch argument {
        case "null": self = .null
        case "console": self = .console
        default:
            if argument.hasPrefix("file:") {
                guard argument.count > "file:".count else { return nil }
                self = .file(String(argument.dropFirst("file:".count)))
            } else {
                guard !argument.isEmpty else { return nil }
                self = .transport(argument)
            }
        }
    }

    var transport: String? { if case .transport(let name) = self { name } else { nil } }

    var isFile: Bool { if case .file = self { true } else { false } }

    /// The watch that prints or writes the pushes of a replay. For `null` with a speed, the watch only waits between
    /// them. Nil for a transport, and for `null` without a speed.
    func makeWatch(
        speed: Double?, only focus: ReplayFocus?, as form: FileTransport.Settings.Form
    ) throws -> ReplayPushWriter? {
        switch self {
        case .transport: return nil
        case .null: return speed.map { ReplayPushWriter(speed: $0, only: focus) { _ in } }
        case .console: return ReplayPushWriter(speed: speed, only: focus) { try StandardOutput.write(lines(of: $0)) }
        case .file(let path):
            let write = form == .simctl ? try simulatorFiles(in: path) : try lineFile(path)
            return ReplayPushWriter(speed: speed, only: focus, write)
        }
    }

    private func lineFile(_ path: String) throws -> @Sendable ([Delivery]) throws -> Void {
        // Only its owner may read a new file, because pushes contain device tokens. An existing file keeps its mode.
        let opened = DataMode.owner.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC)
        guard opened >= 0 else {
            throw ToolFailure(.cannotCreate, "cannot write \(path): \(String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: opened, closeOnDealloc: true)
        return { try file.write(contentsOf: lines(of: $0)) }
    }

    /// Writes a file for each push. Reports and skips pushes that no simulator accepts.
    private func simulatorFiles(in path: String) throws -> @Sendable ([Delivery]) throws -> Void {
        let folder: SimulatorFolder
        do throws(TransportError) { folder = try SimulatorFolder(path) } catch {
            throw ToolFailure(.cannotCreate, error.reason)
        }
        return { pushes in
            for answer in folder.write(pushes) where answer.outcome != .accepted {
                let text = "push \(answer.id.push) for \(answer.id.device.printable): \(answer.reason ?? "not written")"
                // 0 attempts: no simulator accepts the push. 1 attempt: the file could not be written.
                guard answer.attempts == 0 else { throw ToolFailure(.cannotCreate, text) }
                StandardError.write(text)
            }
        }
    }
}

private func lines(of pushes: [Delivery]) -> [UInt8] { pushes.flatMap { $0.line + [UInt8(ascii: "\n")] } }

/// Writes the pushes of re-run stages. Leaves out the notices that tell the app's backend of retired devices.
final class ReplayPushWriter: ReplayWatch {
    private let pace: ReplayPace
    private let focus: ReplayFocus?
    private let write: @Sendable ([Delivery]) throws -> Void

    init(speed: Double?, only focus: ReplayFocus?, _ write: @escaping @Sendable ([Delivery]) throws -> Void) {
        pace = ReplayPace(speed: speed)
        self.focus = focus
        self.write = write
    }

    func observe(_ output: MachineOutput, of stage: RecordedStage, at now: Instant) throws {
        let deliveries = output.deliveries.filter { $0.id.retired == nil && focus?.concerns($0.line) ?? true }
        guard !deliveries.isEmpty else { return }
        pace.waitForGap(before: now)
        try write(deliveries)
    }
}
