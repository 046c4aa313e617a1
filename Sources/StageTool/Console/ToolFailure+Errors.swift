import EventLog
import Glibc
import PipelineKit
import PipelineRuntime
import Replay
import ZeroMQ

/// An error with its own exit status, for errors of modules that this module does not import.
package protocol ErrorWithStatus: Error, CustomStringConvertible {
    var status: ToolStatus { get }
}

extension ToolFailure {
    /// The exit status and message for an error of one of the types listed below. Nil for other errors, such as an
    /// error of the argument parser.
    package init?(explaining error: any Error) {
        switch error {
        case let failure as ToolFailure: self = failure
        case is PipelineFileError, is SettingsError, is ReloadError, is SecretFileError, is ProducerSecretError,
            is ChildProcessError:
            self.init(.configuration, "\(error)")
        case is OutputError, is AtomicTextFileError: self.init(.inputOutput, "\(error)")
        case is AddressError: self.init(.unavailable, "\(error)")
        case is StageFault: self.init(.software, "\(error)")
        case let error as EventLogError: self.init(ToolFailure.status(of: error), "\(error)")
        case let error as ZMQError: self.init(ToolFailure.status(of: error), "\(error)")
        case let error as LinkError: self.init(ToolFailure.status(of: error), "\(error)")
        case let error as ReplayError: self.init(ToolFailure.status(of: error), "\(error)")
        case let error as TransportError: self.init(ToolFailure.status(of: error), "\(error)")
        case let error as any ErrorWithStatus: self.init(error.status, "\(error)")
        default: return nil
        }
    }

    /// Turns a configuration error into a usage error, for a setting that was given as an option. Returns other errors
    /// unchanged.
    package static func usage(explaining error: any Error) -> any Error {
        guard let failure = ToolFailure(explaining: error), failure.status == .configuration else { return error }
        return ToolFailure(.usage, failure.message)
    }

    private static func status(of error: TransportError) -> ToolStatus {
        if error.isOfConfiguration { return .configuration }
        return error.isUnavailable ? .unavailable : .inputOutput
    }

    private static func status(of error: ReplayError) -> ToolStatus {
        switch error {
        case .unreadable, .snapshotDeleted, .ahead, .trimmed, .lost, .dropped, .badCommand: .badData
        case .beyond: .noInput
        case .unknownStage: .configuration
        case .worker: .unavailable
        case .unsupported, .backwards: .usage
        }
    }

    package static func status(of error: EventLogError) -> ToolStatus {
        switch error {
        case .alreadyOpen, .home: .unavailable
        case .damaged, .endLost, .withoutManifest, .wrongSettings, .gone: .badData
        case .notALog: .noInput
        // Status 78: `belfry up` must not start the stage again. Else two hosts would replace each other for ever.
        case .invalidName, .unsupportedFormat, .replaced, .unusableHome: .configuration
        case .full, .failed, .syncFailed, .tooLarge: .inputOutput
        }
    }

    private static func status(of error: ZMQError) -> ToolStatus {
        switch error.code {
        case EADDRINUSE, EADDRNOTAVAIL, ENODEV: .unavailable
        case EINVAL, EPROTONOSUPPORT, ENAMETOOLONG: .configuration
        case EACCES where error.operation == "connect": .noPermission
        default: .inputOutput
        }
    }

    private static func status(of error: LinkError) -> ToolStatus {
        switch error {
        case .refused(_, "door.owner", _), .refused(_, "door.secret", _): .noPermission
        case .connectionRefused(_, .keyNotListed, _), .connectionRefused(_, .keyRequired, _): .noPermission
        case .connectionRefused(_, .serverHasNoKeys, _): .configuration
        case .refused, .silent, .connectionRefused: .unavailable
        case .otherUpstream: .configuration
        case .upstreamLost: .badData
        }
    }
}
