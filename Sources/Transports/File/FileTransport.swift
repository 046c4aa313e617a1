import Dispatch
import JSON
import PipelineKit
import Synchronization

/// Appends pushes to a file, one JSON object a line.
///
/// A push is accepted once it is in the file: it outlives this process, and a power failure from ``close()`` on. A batch
/// is one write. If it fails, the file is cut back to its last whole line and every push of the batch is answered
/// `failed` with the system's reason. The file is its owner's only (mode 0600): pushes hold device tokens.
public final class FileTransport: Transport {
    public struct Settings: PluginSettings {
        /// Where pushes go. Missing folders are made.
        public let path: String

        public init(from settings: inout SettingsReader) throws(SettingsError) {
            path = try settings.path("path")
        }
    }

    public static let kind = "file"

    private let path: String
    private let calls: FileCalls
    private let file = Mutex<AppendFile?>(nil)
    /// Writing may wait for the disk, which the threads of the cooperative pool must not.
    private let queue = DispatchQueue(label: "belfry.transport.file")

    public convenience init(_ settings: Settings, context: TransportContext) throws(SettingsError) {
        self.init(path: settings.path, calls: FileCalls())
    }

    init(path: String, calls: FileCalls) {
        self.path = path
        self.calls = calls
    }

    public func open() async throws(TransportError) {
        if let error = await onQueue({ self.openFile() }) { throw error }
    }

    public func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        let failure = await onQueue { self.append(pushes) }
        return pushes.map { TransportAnswer($0.id, failure == nil ? .accepted : .failed, reason: failure) }
    }

    public func close() async {
        await onQueue {
            self.file.withLock { file in
                file?.synchronize()
                file = nil
            }
        }
    }

    private func openFile() -> TransportError? {
        do throws(TransportError) {
            try file.withLock { file throws(TransportError) in file = try AppendFile.open(path, calls) }
            return nil
        } catch {
            return error
        }
    }

    /// - Returns: Why nothing was appended.
    private func append(_ pushes: [Delivery]) -> String? {
        var lines = ByteBuffer(capacity: pushes.reduce(0) { $0 + $1.byteCount + 1 })
        for push in pushes {
            push.write(into: &lines)
            lines.append(byte: UInt8(ascii: "\n"))
        }
        return file.withLock { file in
            guard file != nil else { return "\(path) is not open" }
            return file?.append(lines.bytes)?.description
        }
    }

    private func onQueue<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}
