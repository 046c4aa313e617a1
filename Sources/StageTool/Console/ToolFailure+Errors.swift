import EventLog
import Glibc
import PipelineKit
import PipelineRuntime
import Replay
import ZeroMQ

/// An error of a module that not every program has.
package protocol StatedError: Error, CustomStringConvertible {
    var status: ToolStatus { get }
}

extension ToolFailure {
    /// What an error of ours means for the one who ran the tool; nil for an error of the argument parser's.
    package init?(explaining error: any Error) {
        switch error {
        case let failure as ToolFailure: self = failure
        case let error as PipelineFileError: self.init(.configuration, error.description)
        case let error as SettingsError: self.init(.configuration, error.description)
        case let error as OutputError: self.init(.inputOutput, error.description)
        case let error as EventLogError: self.init(ToolFailure.status(of: error), error.description)
        case let error as ZMQError: self.init(ToolFailure.status(of: error), error.description)
        case let error as AddressError: self.init(.unavailable, error.description)
        case let error as ReloadError: self.init(.configuration, error.description)
        case let error as LinkError: self.init(ToolFailure.status(of: error), error.description)
        case let error as TransportError:
            self.init(error.isOfConfiguration ? .configuration : .inputOutput, error.description)
        case let error as SecretFileError: self.init(.configuration, error.description)
        case let error as ProducerSecretError: self.init(.configuration, error.description)
        case let error as AtomicTextFileError: self.init(.inputOutput, error.description)
        case let error as ChildProcessError: self.init(.configuration, error.description)
        case let error as any StatedError: self.init(error.status, error.description)
        case let error as StageFault: self.init(.software, error.description)
        case let error as ReplayError: self.init(ToolFailure.status(of: error), error.description)
        default: return nil
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

    package static func status(of error: EventLogError) -> ToolStatus {
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
        case .refused(_, "door.owner", _), .refused(_, "door.secret", _): .noPermission
        case .notLetIn(_, .keyNotListed, _), .notLetIn(_, .keyRequired, _): .noPermission
        case .notLetIn(_, .keysNotTaken, _): .configuration
        case .refused, .silent, .notLetIn: .unavailable
        case .otherUpstream: .configuration
        case .upstreamLost: .badData
        }
    }
}
