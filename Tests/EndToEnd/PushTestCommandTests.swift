import Foundation
import TestSupport
import Testing

/// What `belfry push test` prints, mainly for pushes that may not reach the device. Also what `belfry doctor apns`
/// prints for a server that cannot be reached.
@Suite(.timeLimit(.minutes(5)))
struct PushTestCommandTests {
    private static func push(
        _ setup: LocalAPNsSetup, _ pipeline: String, container: String = "iCloud.com.example.Notes",
        onTerminal: Bool = false
    ) async throws -> Program.Result {
        try await Program.run(
            "belfry", ["push", "test", pipeline, "--token", "ab01", "--container", container],
            in: setup.folder.path, onTerminal: onTerminal)
    }

    struct ServerFailure: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// What the server does, as members of `do` in its script.
        var action: String
        var message: String
        var fix: String
    }

    static let failures = [
        ServerFailure(
            testDescription: "the server is unavailable", action: #""status":503,"reason":"ServiceUnavailable""#,
            message: "503 ServiceUnavailable", fix: "try again later, and see Apple's system status"),
        ServerFailure(
            testDescription: "the server closes the connection", action: #""drop":true"#, message: "no answer",
            fix: "the device may still get the push; run belfry doctor apns to test the server"),
        ServerFailure(
            testDescription: "the server does not answer", action: #""silence":true"#, message: "no answer yet",
            fix: "the device may still get the push; run belfry doctor apns to test the server"),
    ]

    @Test(arguments: Tier.some(of: failures))
    func `a push that the server does not accept is reported with advice`(failure: ServerFailure)
        async throws
    {
        let setup = try await LocalAPNsSetup()
        try await setup.control(#"{"script":[{"do":{\#(failure.action)}}]}"#)
        let result = try await Self.push(setup, setup.pipeline(), onTerminal: true)
        #expect(
            result.output.hasPrefix(
                "not accepted for the token by apns: \(failure.message) (a pipeline would try again later)\n"
                    + "do: \(failure.fix)"),
            "\(result)")
        #expect(result.status == 1)
    }

    @Test func `a test push waits for an answer that comes after three seconds`() async throws {
        let setup = try await LocalAPNsSetup()
        try await setup.control(#"{"script":[{"do":{"latency":[3000,3000]}}]}"#)
        let result = try await Self.push(setup, setup.pipeline(), onTerminal: true)
        #expect(result.status == 0 && result.output.hasPrefix("accepted for the token by apns: 200"), "\(result)")
    }

    @Test func `a container without an app is reported with advice`() async throws {
        let setup = try await LocalAPNsSetup()
        let result = try await Self.push(
            setup, setup.pipeline(), container: "iCloud.com.example.Mail", onTerminal: true)
        #expect(
            result.output.hasPrefix(
                "refused for the token by apns: no app of this transport has container iCloud.com.example.Mail, "
                    + "environment development\ndo: add the app to the transport's apps"), "\(result)")
        #expect(result.status == 1)
    }

    @Test func `a pipeline that never ran, contradictory options and a missing trust file are errors`() async throws {
        let setup = try await LocalAPNsSetup()
        let file = try setup.pipeline()
        let unknown = try await Program.run(
            "belfry", ["push", "test", file, "--user", "_alice", "--device", "mac"], in: setup.folder.path)
        #expect(unknown.status == 66 && unknown.errors.contains("the pipeline has not run yet (belfry up \(file))"))
        #expect(unknown.errors.contains("name the device with --token and --container"), "\(unknown)")
        let contradiction = try await Program.run(
            "belfry", ["push", "test", file, "--user", "_alice", "--device", "mac", "--silent", "--payload", "p.json"])
        #expect(contradiction.status == 64 && contradiction.errors.contains("--silent and --payload are both given"))
        let trust = setup.folder.file("none.pem")
        let result = try await Self.push(setup, setup.pipeline(transport: ["trust": trust]))
        #expect(result.status == 78, "\(result)")
        #expect(result.errors.contains("trust: \(trust) does not exist or cannot be read: set trust to"), "\(result)")
    }

    @Test(arguments: [
        (["--user", "_a", "--device", "d", "--silent", "--alert", "Hello"], "--alert and --silent are both given"),
        (["--user", "_a", "--device", "d", "--payload", "p.json", "--alert", "Hello"], "--alert and --payload"),
        (["--user", "_a", "--device", "d", "--environment", "production"], "--environment needs --token"),
        (["--user", "_a", "--device", "d", "--topic", "com.example.Notes"], "--topic needs --token"),
        (["--user", "_a", "--device", "d", "--transport", "apns"], "--transport needs --token"),
        (
            ["--token", "ab01", "--container", "iCloud.com.example.Notes", "--environment", "produktion"],
            "--environment takes development or production, not 'produktion'; did you mean \"production\"?"
        ),
    ])
    func `options that exclude each other, need --token or have a wrong value are refused`(
        options: [String], reason: String
    ) async throws {
        let result = try await Command.run(["push", "test", "notes.yaml"] + options)
        #expect(result.status == 64 && result.errors.contains(reason), "\(result)")
    }

    @Test func `a token is refused by the other environment and accepted by its own`() async throws {
        let device = #"{"token":"ab01","topic":"com.example.Notes","environment":"production"}"#
        let setup = try await LocalAPNsSetup(devices: device)
        let refused = try await Self.push(setup, setup.pipeline(), onTerminal: true)
        #expect(refused.status == 1, "\(refused)")
        #expect(refused.output == "refused for the token by apns: 400 BadDeviceToken\n")
        let own = try await LocalAPNsSetup(["--environment", "production"], devices: device)
        #expect(try await Self.push(own, own.pipeline()).status == 0)
    }

    @Test func `a wrong topic or environment for the key is reported with advice`() async throws {
        let setup = try await LocalAPNsSetup(["--key-topic", "com.example.Mail"])
        let topic = try await Self.push(setup, setup.pipeline())
        #expect(topic.status == 1 && topic.output.contains(#""status":400,"reason":"TopicDisallowed""#), "\(topic)")
        #expect(topic.output.contains(#""fix":"compare topic with the app's bundle ID and the key's topics""#))
        let other = try await LocalAPNsSetup(["--key-environment", "production"])
        let environment = try await Self.push(other, other.pipeline(), onTerminal: true)
        #expect(environment.status == 1 && environment.output.contains("403 BadEnvironmentKeyIdInToken\n"))
        #expect(
            environment.output.hasSuffix(
                "\ndo: use a key or certificate for that environment, or correct the app's environment\n"))
    }

    /// The message does not contain the text or the name of the network library's error.
    @Test(arguments: [false, true])
    func `an unreachable server or proxy is reported with advice`(isProxy: Bool) async throws {
        let (setup, gone) = (try await LocalAPNsSetup(), try ReservedPort())
        let transport = isProxy ? ["proxy": "http://127.0.0.1:\(gone.number)"] : ["port": "\(gone.number)"]
        let words = (isProxy ? "the proxy " : "") + "127.0.0.1:\(gone.number) refuses connections"
        let fix =
            isProxy
            ? "check proxy and proxyLogin, that the proxy runs" : "check host and port, and that the server runs"
        let file = try setup.pipeline(transport: transport)
        let push = try await Self.push(setup, file, onTerminal: true)
        #expect(push.status == 1, "\(push)")
        #expect(
            push.output.hasPrefix(
                "not accepted for the token by apns: \(words) (a pipeline would try again later)\ndo: \(fix)"),
            "\(push)")
        let doctor = try await Program.run("belfry", ["doctor", "apns", file], in: setup.folder.path)
        #expect(doctor.status == 1, "\(doctor)")
        #expect(
            doctor.output.contains(
                #""code":"apns.unreachable","text":"notes: APNs cannot be reached (\#(words))","fix":"\#(fix)"#),
            "\(doctor)")
    }

    @Test func `belfry doctor apns reports an unknown host`() async throws {
        let setup = try await LocalAPNsSetup()
        let file = try setup.pipeline(transport: ["host": "nowhere.invalid"])
        let doctor = try await Program.run("belfry", ["doctor", "apns", file], in: setup.folder.path)
        #expect(doctor.status == 1, "\(doctor)")
        #expect(
            doctor.output.contains("notes: APNs cannot be reached (nowhere.invalid:\(setup.port) is not found in DNS)"))
        #expect(doctor.output.contains(#""fix":"check host, and this machine's DNS""#), "\(doctor)")
    }

    @Test func `a key file that others can read is a configuration error`() async throws {
        let setup = try await LocalAPNsSetup()
        chmod(setup.keyFile, 0o644)
        let result = try await Self.push(setup, setup.pipeline())
        #expect(result.status == 78 && result.output == "", "\(result)")
        #expect(result.errors.contains("AuthKey_KEYLOCAL12.p8") && result.errors.contains("chmod"), "\(result)")
    }
}
