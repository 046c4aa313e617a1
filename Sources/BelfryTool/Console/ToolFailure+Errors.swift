import EventLog
import Glibc
import LocalAPNs
import PipelineKit
import PipelineRuntime
import Replay
import ZeroMQ

extension ToolFailure {
    /// What an error of ours means for the one who ran the tool; nil for an error of the argument parser's.
    init?(explaining error: any Error) {
        switch error {
        case let failure as ToolFailure: self = failure
        case let error as PipelineFileError: self.init(.configuration, error.description)
        case let error as SettingsError: self.init(.configuration, error.description)
        case let error as OutputError: self.init(.inputOutput, error.description)
        case let error as EventLogError: self.init(ToolFailure.status(of: error), error.description)
        case let error as ZMQError: self.init(ToolFailure.status(of: error), error.description)
        case let error as LinkError: self.init(ToolFailure.status(of: error), error.description)
        case let error as TransportError: self.init(.inputOutput, error.description)
        case let error as SmallTextError: self.init(.inputOutput, error.description)
        case let error as ChildProcessError: self.init(.configuration, error.description)
        case let error as StartError: self.init(ToolFailure.status(of: error), error.description)
        case let error as LineError: self.init(.badData, error.description)
        case let error as ReplayError: self.init(ToolFailure.status(of: error), error.description)
        default: return nil
        }
    }

    private static func status(of error: StartError) -> ToolStatus {
        switch error {
        case .file: .inputOutput
        case .content: .configuration
        case .address: .unavailable
        }
    }

    private static func status(of error: ReplayError) -> ToolStatus {
        switch error {
        case .unreadable, .ahead, .trimmed, .lost, .dropped, .badCommand: .badData
        case .beyond: .noInput
        case .unknownStage: .configuration
        case .worker: .unavailable
        case .unsupported, .backwards: .usage
        }
    }

    static func status(of error: EventLogError) -> ToolStatus {
        switch error {
        case .alreadyOpen: .unavailable
        case .damaged, .withoutManifest, .wrongSettings, .gone: .badData
        case .notALog: .noInput
        case .invalidName, .unsupportedFormat: .configuration
        case .full, .failed, .syncFailed, .tooLarge: .inputOutput
        }
    }

    private static func status(of error: ZMQError) -> ToolStatus {
        switch error.code {
        case EADDRINUSE, EADDRNOTAVAIL, ENODEV: .unavailable
        case EINVAL, EPROTONOSUPPORT, ENAMETOOLONG: .configuration
        default: .inputOutput
        }
    }

    private static func status(of error: LinkError) -> ToolStatus {
        switch error {
        case .refused, .silent: .unavailable
        case .otherUpstream: .configuration
        case .upstreamLost: .badData
        }
    }
}
