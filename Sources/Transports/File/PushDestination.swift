import EventLog
import Glibc
import JSON
import PipelineKit

/// A file or folder to which pushes are written. Writing may wait for the disk.
protocol PushDestination: AnyObject {
    /// - Returns: One answer for each push.
    func write(_ pushes: [Delivery]) -> [TransportAnswer]

    /// Makes the written pushes survive a power failure. ``SimulatorFolder`` does not promise this, and does nothing.
    func synchronize()
}

/// One file, in which each line is a push.
final class LineFile: PushDestination {
    private var file: AppendFile

    init(_ path: String, _ calls: FileCalls) throws(TransportError) { file = try .open(path, calls) }

    /// Appends all pushes or none. Only if the path is a device file or a pipe, a failed write may leave some of them.
    func write(_ pushes: [Delivery]) -> [TransportAnswer] {
        var lines = ByteBuffer(capacity: pushes.reduce(0) { $0 + $1.byteCount + 1 })
        for push in pushes {
            push.write(into: &lines)
            lines.append(byte: UInt8(ascii: "\n"))
        }
        let failure = file.append(lines.bytes)
        return pushes.map {
            TransportAnswer($0.id, failure == nil ? .accepted : .failed, reason: failure?.description)
        }
    }

    func synchronize() { file.synchronize() }
}

/// A folder with a file for each push, for Xcode's simulators.
package final class SimulatorFolder: PushDestination, Sendable {
    private let path: String
    private let calls: FileCalls

    /// Makes the folder if it is missing.
    package convenience init(_ path: String) throws(TransportError) { try self.init(path, FileCalls()) }

    init(_ path: String, _ calls: FileCalls) throws(TransportError) {
        (self.path, self.calls) = (path, calls)
        do throws(SystemError) {
            try Folder.make(for: "\(path)/push.apns", calls.mode)
            let folder = uninterrupted { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            guard folder >= 0 else { throw .last }
            close(folder)
            guard access(path, W_OK | X_OK) == 0 else { throw .last }
        } catch {
            throw .unwritable(path, error)
        }
    }

    /// - Returns: One answer for each push. A push that no simulator can show fails without an attempt.
    package func write(_ pushes: [Delivery]) -> [TransportAnswer] { pushes.map(writeFile) }

    func synchronize() {}

    private func writeFile(for delivery: Delivery) -> TransportAnswer {
        guard let push = SimulatorPush(delivery) else {
            return TransportAnswer(
                delivery.id, .failed, reason: "not a push with an apns-id, a topic and a payload", attempts: 0)
        }
        do throws(SystemError) {
            try write(push)
            return TransportAnswer(delivery.id, .accepted)
        } catch {
            return TransportAnswer(delivery.id, .failed, reason: "\(error)")
        }
    }

    /// Writes the file under another name first, so that the folder never shows an incomplete `.apns` file.
    private func write(_ push: SimulatorPush) throws(SystemError) {
        let part = "\(path)/.\(push.name).part"
        do throws(SystemError) {
            try write(push.contents, to: part)
            guard rename(part, "\(path)/\(push.name)") == 0 else { throw .last }
        } catch {
            unlink(part)
            throw error
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        let file = uninterrupted { calls.mode.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC) }
        guard file >= 0 else { throw .last }
        defer { close(file) }
        let failure = bytes.withUnsafeBytes { bytes -> SystemError? in
            do throws(SystemError) { try calls.writeAll(bytes, to: file) } catch { return error }
            return nil
        }
        if let failure { throw failure }
    }
}
