import Glibc
import JSON
import PipelineRuntime
import ZeroMQ

/// Limits the size of a running process's files.
enum FileSizeLimit {
    /// - Parameter bytes: The largest size of a file. Nil removes the limit.
    static func set(_ bytes: UInt64?, of pid: Int32) throws {
        let soft = bytes.map { "\($0)" } ?? "unlimited"
        let call = try SpawnedProgram([program, "--pid", "\(pid)", "--fsize=\(soft):"])
        guard try call.waitUntilExit() == 0 else {
            throw FaultError("cannot limit the files of process \(pid): \(call.lines)")
        }
    }

    private static let program = "/usr/bin/prlimit"
    static var isAvailable: Bool { access(program, X_OK) == 0 }
    static let missing = "\(program) of util-linux is missing"

    /// A shell command that starts a program whose files must stay empty.
    static let launcherWithoutSpace = ["/bin/sh", "-c", "ulimit -S -f 0; exec \"$0\" \"$@\""]
}

/// A small file system for the data of a pipeline. It is mounted only for the processes of this pipeline.
enum SmallDisk {
    static let bytes = 96 << 20

    /// A shell command that starts a program with such a file system at `folder`.
    static func launcher(mountingAt folder: String) -> [String] {
        let mount = "mount -t tmpfs -o size=\(bytes) none '\(folder)'"
        return ["/usr/bin/unshare", "-rm", "/bin/sh", "-c", "\(mount) && exec \"$0\" \"$@\""]
    }

    /// Whether this machine allows such a file system.
    static var isPermitted: Bool {
        do { return try SpawnedProgram(launcher(mountingAt: "/mnt") + ["/bin/true"]).waitUntilExit() == 0 } catch {
            return false
        }
    }

    static let missing = "on this machine users cannot mount a tmpfs in a namespace of their own"

    /// Fills the file system with a file at `path`.
    static func fill(withFileAt path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw FaultError("cannot create \(path): errno \(errno)") }
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 4096)
        for _ in 0...bytes / zeros.count where write(file, zeros, zeros.count) != zeros.count { return }
        throw FaultError("\(path) has more than \(bytes) bytes, but its file system is not full")
    }
}

enum Processes {
    /// The running processes that a process has started.
    static func children(of pid: Int32) throws -> [Int32] {
        guard let folder = opendir("/proc/\(pid)/task") else { throw FaultError("process \(pid) does not exist") }
        defer { closedir(folder) }
        var children: [Int32] = []
        while let entry = readdir(folder) {
            let task = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            children += text("/proc/\(pid)/task/\(task)/children").split(separator: " ").compactMap { Int32($0) }
        }
        return children
    }

    private static func text(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

/// A stage's answer to the message `health`.
struct Health: Sendable {
    var phase: String
    /// The last sequence of the stage's log.
    var last: UInt64
    /// The file that cannot grow because the disk is full; nil if the disk is not full.
    var file: String?
    var bytesNeeded: UInt64?

    static func ask(_ endpoint: String, _ context: ZMQContext) throws -> Health {
        let socket = try ZMQSocket(context, .dealer, ZMQSocketOptions())
        defer { socket.close() }
        try socket.connect(endpoint)
        _ = try socket.send([LinkFrame.health()], wait: true)
        let poller = ZMQPoller()
        poller.add(socket)
        _ = try poller.poll(timeoutMilliseconds: 10_000)
        let message = ZMQMultipart()
        guard try socket.receive(into: message, wait: false) == .received else {
            throw FaultError("\(endpoint) did not answer `health` within 10 s")
        }
        var parser = JSONParser()
        let health = try parser.parse(message[0])
        return Health(
            phase: health.text("phase") ?? "", last: health.natural("last") ?? 0,
            file: health["diskFull"]?.text("file"), bytesNeeded: health["diskFull"]?.natural("bytesNeeded"))
    }
}
