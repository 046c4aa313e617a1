import Foundation
import TestSupport
import Testing

/// `belfry doctor apns` sends its requests to `belfry apns-server`.
@Suite(.timeLimit(.minutes(5)))
struct APNsDoctorCommandTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Arguments of the server.
        var arguments: [String] = []
        /// Control commands for the server.
        var commands: [String] = []
        /// Wrong settings of the app in the pipeline file.
        var app: [String: String] = [:]
        var code: String
        var text: String
        var fix: String
    }

    static let mistakes = [
        Mistake(
            testDescription: "a topic that the key does not allow", arguments: ["--key-topic", "com.example.Mail"],
            code: "apns.topic",
            text: "com.example.Notes is not a topic of key KEYLOCAL12 of team TEAMLOCAL1 (400 TopicDisallowed)",
            fix: "compare topic with the app's bundle ID and the key's topics"),
        Mistake(
            testDescription: "an invalid topic", app: ["topic": "com..Notes"], code: "apns.topic",
            text: "com..Notes is not a topic of key KEYLOCAL12 of team TEAMLOCAL1 (400 BadTopic)",
            fix: "compare topic with the app's bundle ID"),
        Mistake(
            testDescription: "a key of the other environment", arguments: ["--key-environment", "production"],
            code: "apns.environment",
            text: "key KEYLOCAL12 of team TEAMLOCAL1 is not valid for development (403 BadEnvironmentKeyIdInToken)",
            fix: "use a key or certificate for that environment, or correct the app's environment"),
        Mistake(
            testDescription: "another team", app: ["team": "TEAMOTHER1"], code: "apns.credential",
            text: "APNs rejects key KEYLOCAL12 of team TEAMOTHER1 (403 InvalidProviderToken)",
            fix: "compare key, team and the .p8 file with the page Keys of developer.apple.com"),
        Mistake(
            testDescription: "another key's ID", app: ["key": "KEYOTHER12"], code: "apns.credential",
            text: "APNs rejects key KEYOTHER12 of team TEAMLOCAL1 (403 InvalidProviderToken)",
            fix: "keyFile is AuthKey_KEYLOCAL12.p8, but key is KEYOTHER12: correct one of the two"),
        Mistake(
            testDescription: "another key's .p8", app: ["keyFile": "{$file: other.p8}"], code: "apns.credential",
            text: "APNs rejects key KEYLOCAL12 of team TEAMLOCAL1 (403 InvalidProviderToken)",
            fix: "compare key, team and the .p8 file with the page Keys of developer.apple.com"),
        Mistake(
            testDescription: "a revoked key", commands: [#"{"key":{"id":"KEYLOCAL12","state":"revoked"}}"#],
            code: "apns.credential",
            text: "APNs rejects key KEYLOCAL12 of team TEAMLOCAL1 (403 InvalidProviderToken)",
            fix: "the key may be revoked"),
        Mistake(
            testDescription: "a clock that is behind the server's", commands: [#"{"clock":"+2h"}"#], code: "apns.token",
            text: "this machine's clock is wrong, or tokens change too often (403 ExpiredProviderToken)",
            fix: "set this machine's clock (timedatectl)"),
        Mistake(
            testDescription: "a clock that is ahead of the server's", commands: [#"{"clock":"-2h"}"#],
            code: "apns.credential", text: "(403 InvalidProviderToken)",
            fix: "or this machine's clock may be ahead"),
        Mistake(
            testDescription: "a clock that is ahead of the server's, answered with TooManyProviderTokenUpdates",
            commands: [
                #"{"script":[{"quirks":{"futureToken":"TooManyProviderTokenUpdates"}}]}"#, #"{"clock":"-2h"}"#,
            ], code: "apns.token",
            text: "this machine's clock is wrong, or tokens change too often (429 TooManyProviderTokenUpdates)",
            fix: "set this machine's clock (timedatectl)"),
    ]

    private static func doctor(_ setup: LocalAPNsSetup, _ pipeline: String) async throws -> Program.Result {
        try await Program.run("belfry", ["doctor", "apns", pipeline], in: setup.folder.path)
    }

    private static let devices = #"{"token":"ab01","topic":"com.example.Notes"}"#

    @Test(arguments: mistakes)
    func `each mistake is reported with advice, and no device gets a push`(mistake: Mistake) async throws {
        let setup = try await LocalAPNsSetup(mistake.arguments)
        for command in mistake.commands { try await setup.control(command) }
        if mistake.app["keyFile"] != nil { try await Self.writeOtherKey(in: setup.folder) }
        let (found, _) = try await Self.finding(setup, setup.pipeline(app: mistake.app), status: 1)
        #expect(found.contains(#""severity":"error","code":"\#(mistake.code)","text":"notes: "#), "\(found)")
        #expect(found.contains(mistake.text) && found.contains(mistake.fix), "\(found)")
    }

    @Test func `a good configuration is reported, and no device gets a push`() async throws {
        let setup = try await LocalAPNsSetup(
            [
                "--key-topic", "com.example.Mail", "--key-topic", "com.example.Notes", "--key-environment",
                "development",
            ],
            devices: Self.devices)
        let (found, requests) = try await Self.finding(setup, setup.pipeline(), status: 0)
        #expect(found.contains(#""code":"apns.good","text":"notes: key, team, topic, environment and clock"#))
        #expect(requests == 1)
    }

    @Test func `a server that closes the connection is reported`() async throws {
        let setup = try await LocalAPNsSetup()
        try await setup.control(#"{"script":[{"do":{"drop":true}}]}"#)
        let (found, _) = try await Self.finding(setup, setup.pipeline(), status: 1)
        #expect(
            found.contains(
                #""code":"apns.unreachable","text":"notes: APNs cannot be reached (127.0.0.1:\#(setup.port) closed the "#
                    + #"connection)","fix":"check host and port, and the firewall"#), "\(found)")
    }

    @Test func `a key file that contains no key is reported, and no request is sent`() async throws {
        let setup = try await LocalAPNsSetup()
        let file = try setup.folder.write("no key\n", to: "junk.p8")
        chmod(file, 0o600)
        let result = try await Self.doctor(setup, setup.pipeline(app: ["keyFile": "{$file: junk.p8}"]))
        #expect(result.status == 1 && result.output.contains(#""code":"apns.unchecked""#), "\(result)")
        #expect(
            result.output.contains(
                "stages.deliver.transports.apns.apps.notes.keyFile: \(file) is not a .p8 key from Apple"), "\(result)")
        #expect(await setup.stopAndReadRequests().isEmpty)
    }

    /// The doctor's finding about the only app, and the number of requests to the server.
    private static func finding(
        _ setup: LocalAPNsSetup, _ pipeline: String, status: Int32
    ) async throws -> (text: String, requests: Int) {
        let result = try await doctor(setup, pipeline)
        #expect(result.status == status && result.errors == "" && result.isNDJSON, "\(result)")
        #expect(result.output.split(separator: "\n").count == 1, "\(result)")
        let requests = await setup.stopAndReadRequests()
        #expect(!requests.isEmpty && !requests.contains(where: reachedDevice), "\(requests)")
        return (result.output, requests.count)
    }

    /// Whether a request reached a device. Then its line has the status 200, a token or a fate.
    private static func reachedDevice(_ request: String) -> Bool {
        request.contains(#""status":200"#) || request.contains(#""fate""#) || request.contains(#""token":"#)
    }

    /// Writes the key of another server to `other.p8`.
    private static func writeOtherKey(in folder: Folder) async throws {
        let other = try Program("belfry", ["apns-server", "--port", "0", "--data", "other"], in: folder.path)
        await other.waitForMessage("port: ")
        other.signal(SIGTERM)
        _ = await other.result()
        try FileManager.default.copyItem(
            atPath: folder.file("other/AuthKey_KEYLOCAL12.p8"), toPath: folder.file("other.p8"))
    }
}
