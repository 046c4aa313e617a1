import Foundation
import LocalAPNs
import PipelineRuntime

/// `nghttpd`, an HTTP/2 server that nobody wrote for Belfry: it answers every push with 200.
///
/// Each device is an empty file below its root.
final class DeliverBenchServer: Sendable {
    /// How many devices there are.
    static let devices = 1_000

    let port: Int
    let trust: String
    let keyFile: String
    private let process: ChildProcess

    static func token(_ device: Int) -> String {
        let digits = String(device % devices, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// - Parameters:
    ///   - streams: How many each connection may have open.
    ///   - folder: Where keys, certificates and devices are made.
    /// - Throws: ``ToolFailure`` with 69 where `nghttpd` is missing or does not start.
    init(streams: Int, in folder: String) throws {
        var configuration = LocalAPNs.Configuration()
        configuration.folder = folder
        let server: (certificate: String, key: String)
        do throws(StartError) {
            let credentials = try Credentials(configuration)
            server = try credentials.server(names: ["localhost", "127.0.0.1"])
            (trust, keyFile) = (credentials.authorityPath, credentials.keyPath)
        } catch {
            throw ToolFailure(.inputOutput, error.description)
        }
        port = try FreePort.find()
        try Self.makeDevices(in: "\(folder)/3/device")
        let log = open("\(folder)/nghttpd.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(log) }
        do throws(ChildProcessError) {
            process = try ChildProcess(
                [
                    "nghttpd", "\(port)", server.key, server.certificate, "-d", folder, "-m", "\(streams)", "-a",
                    "127.0.0.1",
                ], standard: .lifeline(output: log))
        } catch {
            throw ToolFailure(.unavailable, "\(error): install nghttp2-server")
        }
        try waitUntilThere()
    }

    deinit { process.signal(SIGKILL) }

    private static func makeDevices(in folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for device in 0..<devices { try TextFile.write("", to: "\(folder)/\(token(device))") }
    }

    private func waitUntilThere() throws {
        let end = ContinuousClock.now + .seconds(10)
        while !FreePort.isTaken(port) {
            guard process.wait(atMost: .milliseconds(20)) == nil, ContinuousClock.now < end else {
                throw ToolFailure(.unavailable, "nghttpd does not listen on port \(port)")
            }
        }
    }
}

/// TCP ports of this machine.
enum FreePort {
    /// One that nobody has, at this moment.
    static func find() throws -> Int {
        let descriptor = try socket()
        defer { close(descriptor) }
        var address = loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withAddress(&address) {
            bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
        }
        guard isBound else { throw ToolFailure(.unavailable, "no port is free: \(String(cString: strerror(errno)))") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Whether somebody listens there.
    static func isTaken(_ port: Int) -> Bool {
        do {
            let descriptor = try socket()
            defer { close(descriptor) }
            var address = loopback(UInt16(port))
            return withAddress(&address) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 }
        } catch { return false }
    }

    private static func socket() throws -> Int32 {
        let descriptor = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw ToolFailure(.unavailable, String(cString: strerror(errno))) }
        return descriptor
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func withAddress<Result>(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
        }
    }
}
