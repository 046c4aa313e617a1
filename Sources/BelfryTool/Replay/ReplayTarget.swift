import ArgumentParser
import EventLog
import Foundation
import Replay

/// Where the pushes of a replay go.
enum ReplayTarget: ExpressibleByArgument, Equatable {
    case null
    case console
    case file(String)
    /// One of the pipeline's own, by the name that devices use.
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

    /// Nil where nobody looks on, and where somebody gets them for real.
    func pushes(speed: Double?, only focus: ReplayFocus?) throws -> ReplayPushes? {
        switch self {
        case .transport: return nil
        case .null: return speed.map { ReplayPushes(speed: $0, only: focus) { _ in } }
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
    private let pace: ReplayPace
    private let focus: ReplayFocus?
    private let write: @Sendable ([UInt8]) throws -> Void

    /// - Parameter focus: What alone is written; nil: everything.
    init(speed: Double?, only focus: ReplayFocus?, _ write: @escaping @Sendable ([UInt8]) throws -> Void) {
        pace = ReplayPace(speed: speed)
        self.focus = focus
        self.write = write
    }

    func take(_ output: MachineOutput, _ stage: RecordedStage, at now: Instant) throws {
        let deliveries = output.deliveries.filter { focus?.concerns($0.line) ?? true }
        guard !deliveries.isEmpty else { return }
        pace.hold(until: now)
        try write(deliveries.flatMap { $0.line + [UInt8(ascii: "\n")] })
    }
}
