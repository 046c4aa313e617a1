import ArgumentParser
import EventLog
import Foundation
import Replay
import Synchronization

/// Where the pushes of a replay go. Never a transport.
enum ReplayTarget: ExpressibleByArgument, Equatable {
    case null
    case console
    case file(String)

    init?(argument: String) {
        switch argument {
        case "null": self = .null
        case "console": self = .console
        default:
            guard argument.hasPrefix("file:"), argument.count > "file:".count else { return nil }
            self = .file(String(argument.dropFirst("file:".count)))
        }
    }

    /// Nil where nobody looks on.
    func pushes(speed: Double?, only focus: ReplayFocus?) throws -> ReplayPushes? {
        switch self {
        case .null: return nil
        case .console: return ReplayPushes(speed: speed, only: focus) { try StandardOutput.write($0) }
        case .file(let path):
            guard FileManager.default.createFile(atPath: path, contents: nil),
                let file = FileHandle(forWritingAtPath: path)
            else { throw ToolFailure(.cannotCreate, "cannot write \(path)") }
            return ReplayPushes(speed: speed, only: focus) { try file.write(contentsOf: $0) }
        }
    }
}

/// Writes the pushes that stages hand out while they are re-run, one JSON object a line.
final class ReplayPushes: ReplayWatch {
    private let speed: Double?
    private let focus: ReplayFocus?
    private let write: @Sendable ([UInt8]) throws -> Void
    private let last = Mutex<Instant?>(nil)

    /// - Parameter focus: What alone is written; nil: everything.
    init(speed: Double?, only focus: ReplayFocus?, _ write: @escaping @Sendable ([UInt8]) throws -> Void) {
        (self.speed, self.focus) = (speed, focus)
        self.write = write
    }

    func take(_ output: MachineOutput, _ stage: RecordedStage, at now: Instant) throws {
        let deliveries = output.deliveries.filter { focus?.concerns($0.line) ?? true }
        guard !deliveries.isEmpty else { return }
        hold(until: now)
        try write(deliveries.flatMap { $0.line + [UInt8(ascii: "\n")] })
    }

    /// On a thread that is the replay's own.
    private func hold(until now: Instant) {
        let before = last.withLock { last in
            defer { last = now }
            return last
        }
        guard let speed, let before, now > before else { return }
        Thread.sleep(forTimeInterval: (now - before) / .seconds(1) / speed)
    }
}
