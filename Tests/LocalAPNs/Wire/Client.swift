import Foundation
import TestSupport

@testable import LocalAPNs

/// A server for one test, and clients that share no code with it.
struct LiveServer {
    let apns: LocalAPNs
    private let folder: Folder

    init(_ script: String = "", _ change: (inout LocalAPNs.Configuration) -> Void = { _ in }) async throws {
        folder = try Folder()
        var configuration = LocalAPNs.Configuration()
        configuration.port = 0
        configuration.folder = folder.path
        configuration.clock = { Fixture.start }
        configuration.script = try LineFile.script(script, name: "script")
        change(&configuration)
        apns = try await LocalAPNs.start(configuration)
    }

    func token(issuedAt: Int64 = Fixture.start / 1000) throws -> String {
        try JWT.text(
            head: #"{"alg":"ES256","kid":"KEYLOCAL12"}"#, claims: #"{"iss":"TEAMLOCAL1","iat":\#(issuedAt)}"#,
            key: apns.credentials.key)
    }

    func write(_ text: String, to name: String) throws -> String { try folder.write(text, to: name) }

    func url(_ device: String = "ab01") -> String { "https://127.0.0.1:\(apns.port)/3/device/\(device)" }

    /// Sends a request with curl. Returns the head and the body of the answer, or curl's error if there is no answer.
    func curl(_ arguments: String..., device: String = "ab01", body: String = #"{"aps":{"alert":"Hi"}}"#) throws
        -> String
    {
        let fixed = ["-sSi", "--http2", "-m", "10", "--cacert", apns.credentials.authorityPath, "-d", body]
        return try Run("/usr/bin/curl", fixed + arguments + [url(device)]).output
    }

    /// Sends an alert with a valid provider token. Returns the same as `curl`.
    func push(_ arguments: String..., device: String = "ab01") throws -> String {
        let fixed = [
            "-sSi", "--http2", "-m", "10", "--cacert", apns.credentials.authorityPath, "-d",
            #"{"aps":{"alert":"Hi"}}"#, "-H", "authorization: bearer \(try token())", "-H",
            "apns-topic: com.example.Notes", "-H", "apns-push-type: alert",
        ]
        return try Run("/usr/bin/curl", fixed + arguments + [url(device)]).output
    }

    /// Runs ``FrameClient`` with these steps. Returns the lines that it prints.
    func exchangeFrames(_ steps: String...) throws -> [String] { try exchangeFrames(steps: steps) }

    func exchangeFrames(steps: [String]) throws -> [String] {
        let script = try folder.write(FrameClient.program, to: "client.py")
        let token = try token()
        let head = [
            ":method=POST", ":scheme=https", ":path=/3/device/ab01", "authorization=bearer \(token)",
            "apns-topic=com.example.Notes", "apns-push-type=alert",
        ]
        let run = try Run(
            "/usr/bin/python3", [script, "\(apns.port)", apns.credentials.authorityPath, head.joined(separator: "\n")],
            input: steps.joined(separator: "\n"))
        return run.output.split(separator: "\n").map(String.init)
    }
}

/// A program that ran to its end.
struct Run {
    /// The program's standard output and standard error together.
    let output: String
    let status: Int32

    init(_ path: String, _ arguments: [String], input: String = "") throws {
        Cost.spend(.processes)
        let process = Process()
        let (out, give) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardOutput = out
        process.standardError = out
        process.standardInput = give
        try process.run()
        try give.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try give.fileHandleForWriting.close()
        output = String(decoding: try out.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        status = process.terminationStatus
    }
}
