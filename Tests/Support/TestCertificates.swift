import Foundation
import Glibc

/// Certificates for 127.0.0.1, which openssl makes. Tests tell them apart by their common names.
package struct TestCertificates: Sendable {
    private static let openssl = "/usr/bin/openssl"

    /// Whether this machine has openssl to make certificates, and Python, in which some clients are written.
    package static let isPossible = [Python.program, openssl].allSatisfy(FileManager.default.isExecutableFile)

    package let folder: Folder
    package var certificate: String { folder.file("cert.pem") }
    package var key: String { folder.file("key.pem") }

    package init() throws { folder = try Folder() }

    /// Writes a certificate, in place of an earlier one, and its key.
    package func make(commonName name: String, key: String = "key.pem", days: Int = 90) throws {
        let arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "\(days)",
            "-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder.file(key), "-out",
            certificate,
        ]
        try TestProgram(Self.openssl, arguments).waitUntilExit()
        chmod(folder.file(key), 0o600)
    }
}

/// A program that a test starts in order to read the program's standard output.
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

    /// The text that the program writes until it ends.
    package func standardOutput() async -> String { await onThread { self.waitUntilExit() } }

    @discardableResult
    func waitUntilExit() -> String {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    /// Sends SIGKILL, because the program may have inherited a mask that blocks other signals.
    package func kill() { Glibc.kill(process.processIdentifier, SIGKILL) }
}
