import Dispatch
import PipelineKit
import Synchronization

/// Appends each push to one file, as a line of JSON, or writes a file of its own for each push, which Xcode's
/// simulators can show.
///
/// A push is accepted once it is in its file. It then survives a crash of this process. After ``close()``, a line also
/// survives a power failure. The lines of one call of ``deliver(_:)`` are one write. If this write fails, the file is
/// cut back to its former length, and every push of the call is answered `failed` with the system's reason. New files
/// get the access rights of the data folder's files (`data.mode`), because pushes contain device tokens.
package final class FileTransport: Transport {
    package struct Settings: PluginSettings {
        package enum Form: String, Sendable, CaseIterable {
            /// One file, in which each line is a push.
            case ndjson
            /// A folder of `.apns` files: `xcrun simctl push booted FILE` shows one in a simulator.
            case simctl
        }

        package let form: Form
        /// The file, or the folder. Missing folders are made. In a pipeline with lanes, each lane has its own one, which
        /// ``Lane/path(_:)`` names.
        package let path: String

        package init(from settings: inout SettingsReader) throws(SettingsError) {
            form = try settings.choice("as", default: .ndjson)
            path = try Self.path(&settings, form)
        }

        private static func path(_ settings: inout SettingsReader, _ form: Form) throws(SettingsError) -> String {
            guard settings.isExcused("as") else { return try settings.path(form == .simctl ? "folder" : "path") }
            let paths = (try settings.optionalPath("path"), try settings.optionalPath("folder"))
            return paths.0 ?? paths.1 ?? ""
        }
    }

    package static let kind = "file"

    private let form: Settings.Form
    private let path: String
    private let calls: FileCalls
    private let destination = Mutex<(any PushDestination)?>(nil)
    /// Writing may wait for the disk, which threads of the cooperative pool must not do.
    private let queue = DispatchQueue(label: "belfry.transport.file")

    package convenience init(_ settings: Settings, context: TransportContext) throws(SettingsError) {
        var calls = FileCalls()
        calls.mode = context.mode
        self.init(path: context.lane?.path(settings.path) ?? settings.path, as: settings.form, calls: calls)
    }

    init(path: String, as form: Settings.Form = .ndjson, calls: FileCalls = FileCalls()) {
        self.form = form
        self.path = path
        self.calls = calls
    }

    package func open() async throws(TransportError) {
        if let error = await onQueue({ self.openDestination() }) { throw error }
    }

    package func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        await onQueue {
            self.destination.withLock { destination in
                destination?.write(pushes)
                    ?? pushes.map {
                        TransportAnswer($0.id, .failed, reason: "the transport is not open", attempts: 0)
                    }
            }
        }
    }

    package func close() async {
        await onQueue {
            self.destination.withLock { destination in
                destination?.synchronize()
                destination = nil
            }
        }
    }

    private func openDestination() -> TransportError? {
        do throws(TransportError) {
            try destination.withLock { destination throws(TransportError) in
                switch form {
                case .ndjson: destination = try LineFile(path, calls)
                case .simctl: destination = try SimulatorFolder(path, calls)
                }
            }
            return nil
        } catch {
            return error
        }
    }

    private func onQueue<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}
