import Foundation
import Glibc

/// Certificates by openssl for 127.0.0.1, told apart by their names.
package struct TestCertificates: Sendable {
    private static let openssl = "/usr/bin/openssl"

    package static let isPossible = [Python.program, openssl].allSatisfy(FileManager.default.isExecutableFile)

    package let folder: Folder
    package var certificate: String { folder.file("cert.pem") }
    package var key: String { folder.file("key.pem") }

    package init() throws { folder = try Folder() }

    package func make(_ name: String, key: String = "key.pem", days: Int = 90) throws {
        let arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "\(days)",
            "-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder.file(key), "-out",
            certificate,
        ]
        try TestProgram(Self.openssl, arguments).waitUntilExit()
        chmod(folder.file(key), 0o600)
    }
}

/// A program that a test starts for what it writes to its standard output.
package final class TestProgram: Sendable {
    private let process: Process
    private let output = Pipe()

    package init(_ program: String, _ arguments: [String]) throws {
        Cost.spend(.processes)
        process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// What it writes until its end.
    package func answer() async -> String { await onThread { self.waitUntilExit() } }

    @discardableResult
    func waitUntilExit() -> String {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    /// A child may have inherited that its signals are blocked.
    package func kill() { Glibc.kill(process.processIdentifier, SIGKILL) }
}
