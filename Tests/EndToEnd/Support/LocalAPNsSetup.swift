import Foundation
import TestSupport
import Testing

/// A running `belfry apns-server` and a pipeline file that delivers to it, in a folder of their own.
final class LocalAPNsSetup: Sendable {
    let folder: Folder
    let server: Program
    let port: String

    /// - Parameters:
    ///   - arguments: More arguments of `belfry apns-server`.
    ///   - devices: The text of the server's file of devices. Nil if the server gets no such file.
    init(_ arguments: [String] = [], devices: String? = nil) async throws {
        folder = try Folder()
        var arguments = ["apns-server", "--port", "0"] + arguments
        if let devices { arguments += ["--devices", try folder.write(devices + "\n", to: "devices")] }
        server = try Program("belfry", arguments, in: folder.path)
        let line = try #require(await server.waitForMessage("port: "))
        port = String(line.drop { !$0.isNumber })
    }

    var keyFile: String { folder.file(".belfry/apns-server/AuthKey_KEYLOCAL12.p8") }

    /// Sends a control command to the server. The first call waits until the server has executed the command. Later
    /// calls do not wait.
    func control(_ command: String) async throws {
        try server.write(command + "\n")
        await server.waitForMessage("done: ")
    }

    /// Writes the pipeline file, and returns its path. Without arguments, all settings are valid.
    ///
    /// - Parameters:
    ///   - app: Settings of the app, which replace its valid settings or are added to them.
    ///   - transport: Settings of the transport, which replace its valid settings or are added to them.
    func pipeline(app: [String: String] = [:], transport: [String: String] = [:]) throws -> String {
        let validApp = [
            "container": "iCloud.com.example.Notes", "topic": "com.example.Notes", "team": "TEAMLOCAL1",
            "key": "KEYLOCAL12", "keyFile": "{$file: \(keyFile)}",
        ]
        let address = ["host": "127.0.0.1", "port": port, "trust": folder.file(".belfry/apns-server/ca.pem")]
        let appSettings = Self.flow(validApp, replacements: app)
        let transportSettings = Self.flow(address, replacements: transport)
        return try folder.write(
            """
            pipeline: setup
            data: data
            stages:
              ingest: {}
              match: {from: ingest}
              coalesce: {from: match}
              payload: {from: coalesce}
              deliver:
                from: payload
                transports:
                  apns: {use: apns, apps: {notes: \(appSettings)}, \(transportSettings.dropFirst())
            """, to: "setup.yaml")
    }

    /// The settings as a YAML flow mapping.
    private static func flow(_ settings: [String: String], replacements: [String: String]) -> String {
        let all = settings.merging(replacements) { $1 }.sorted { $0.key < $1.key }
        return "{" + all.map { "\($0): \($1)" }.joined(separator: ", ") + "}"
    }

    /// Ends the server.
    ///
    /// - Returns: The output lines of type `request`.
    func stopAndReadRequests() async -> [String] {
        server.signal(SIGTERM)
        let lines = await server.result().output.split(separator: "\n").map(String.init)
        return lines.filter { $0.contains(#""type":"request""#) }
    }
}
