import Foundation
import TestSupport
import Testing

/// Runs programs that are not part of Belfry.
struct Shell {
    let folder: Folder

    /// - Returns: The output of a command of `sh`, which must succeed.
    func run(_ command: String, input: [UInt8] = []) throws -> [UInt8] {
        Cost.spend(.processes)
        let (process, output) = (Process(), Pipe())
        try Data(input).write(to: URL(fileURLWithPath: folder.file("input")))
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: folder.file("input")))
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(command)")
        return Array(bytes)
    }

    func text(_ command: String, input: String = "") throws -> String {
        String(decoding: try run(command, input: Array(input.utf8)), as: UTF8.self)
    }

    /// Makes a private key in `file`, as Apple describes it.
    ///
    /// - Returns: The public key in PEM.
    func makeKey(_ file: String) throws -> String {
        try text("openssl ecparam -name prime256v1 -genkey -noout -out \(file) && openssl ec -in \(file) -pubout")
    }
}
