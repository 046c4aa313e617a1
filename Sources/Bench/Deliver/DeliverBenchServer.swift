import Foundation
import LocalAPNs
import PipelineRuntime
import ZeroMQ

/// `nghttpd`, the HTTP/2 server of libnghttp2. It answers every push with 200.
///
/// Each device is an empty file in the folder `3/device` of the server's root folder.
final class DeliverBenchServer: Sendable {
    static let devices = 1_000

    let port: Int
    /// The path of the certificate that clients trust.
    let trustFile: String
    /// The path of the key that signs provider tokens.
    let keyFile: String
    private let process: ChildProcess

    static func token(_ device: Int) -> String {
        let digits = String(device % devices, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// - Parameters:
    ///   - streams: How many streams a connection may have open.
    ///   - folder: The folder for keys, certificates and devices.
    /// - Throws: ``ToolFailure`` with status 69 if no port is free, or if `nghttpd` is missing or does not listen within
    ///   ten seconds, with 73 if the file of a device cannot be written, and with 74 if the keys or certificates cannot
    ///   be made. Errors of the socket and of the device folder are passed on.
    init(streams: Int, in folder: String) throws {
        var configuration = LocalAPNs.Configuration()
        configuration.folder = folder
        let server: (certificate: String, key: String)
        do throws(StartError) {
            let credentials = try Credentials(configuration)
            server = try credentials.makeServerCertificate(names: ["localhost", "127.0.0.1"])
            (trustFile, keyFile) = (credentials.authorityPath, credentials.keyPath)
        } catch {
            throw ToolFailure(.inputOutput, error.description)
        }
        port = try Self.freePort()
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
        try waitUntilListening()
    }

    deinit { process.signal(SIGKILL) }

    private static func makeDevices(in folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for device in 0..<devices { try TextFile.write("", to: "\(folder)/\(token(device))") }
    }

    /// A TCP port that is free at this moment.
    private static func freePort() throws -> Int {
        let socket = try ZMQSocket(ZMQContext(), .pull, ZMQSocketOptions())
        try socket.bind("tcp://127.0.0.1:*")
        guard let port = socket.lastEndpoint.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw ToolFailure(.unavailable, "no TCP port is free")
        }
        return port
    }

    private func waitUntilListening() throws {
        let end = ContinuousClock.now + .seconds(10)
        while try !isListening() {
            guard process.wait(atMost: .milliseconds(20)) == nil, ContinuousClock.now < end else {
                throw ToolFailure(.unavailable, "nghttpd does not listen on port \(port)")
            }
        }
    }

    /// Whether the system's table of TCP sockets (proc_net(5)) has a socket that listens on the port.
    private func isListening() throws -> Bool {
        let sockets = try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)
        return sockets.contains(String(format: " 0100007F:%04X 00000000:0000 0A ", port))
    }
}
