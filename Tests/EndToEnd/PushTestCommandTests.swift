import Foundation
import TestSupport
import Testing

/// `belfry push test` where the push does not arrive.
@Suite(.timeLimit(.minutes(2)))
struct PushTestCommandTests {
    private static func push(_ house: APNsHouse, _ pipeline: String, onTerminal: Bool = false) async throws
        -> Program.Result
    {
        try await Program.run(
            "belfry", ["push", "test", pipeline, "--token", "ab01", "--container", "iCloud.com.example.Notes"],
            in: house.folder.path, onTerminal: onTerminal)
    }

    @Test func `a token of the other environment is refused by the one, and taken by its own`() async throws {
        let device = #"{"token":"ab01","topic":"com.example.Notes","environment":"production"}"#
        let house = try await APNsHouse(devices: device)
        let refused = try await Self.push(house, house.pipeline(), onTerminal: true)
        #expect(refused.status == 1, "\(refused)")
        #expect(refused.output == "refused for the token by apns: 400 BadDeviceToken\n")
        let own = try await APNsHouse(["--environment", "production"], devices: device)
        #expect(try await Self.push(own, own.pipeline()).status == 0)
    }

    @Test func `a topic or an environment that is not the key's is named, with what to do`() async throws {
        let house = try await APNsHouse(["--key-topic", "com.example.Mail"])
        let topic = try await Self.push(house, house.pipeline())
        #expect(topic.status == 1 && topic.output.contains(#""status":400,"reason":"TopicDisallowed""#), "\(topic)")
        #expect(topic.output.contains(#""fix":"compare topic with the app's bundle ID and the key's topics""#))
        let other = try await APNsHouse(["--key-environment", "production"])
        let environment = try await Self.push(other, other.pipeline(), onTerminal: true)
        #expect(environment.status == 1 && environment.output.contains("403 BadEnvironmentKeyIdInToken\n"))
        #expect(environment.output.hasSuffix("\ndo: take a key or certificate for it, or correct environment\n"))
    }

    /// Neither the library's words nor its error's name.
    @Test(arguments: [false, true])
    func `who cannot be reached is named in plain words, with what to do`(isProxy: Bool) async throws {
        let (house, gone) = (try await APNsHouse(), try ClosedPort())
        let transport = isProxy ? ["proxy": "http://127.0.0.1:\(gone.number)"] : ["port": "\(gone.number)"]
        let words = (isProxy ? "the proxy " : "") + "127.0.0.1:\(gone.number) refuses connections"
        let fix =
            isProxy ? "see proxy and proxyLogin, that the proxy runs" : "see host and port, and that the server runs"
        let file = try house.pipeline(transport: transport)
        let push = try await Self.push(house, file, onTerminal: true)
        #expect(push.status == 1, "\(push)")
        #expect(
            push.output.hasPrefix("not sent to the token: apns would try again later: \(words)\ndo: \(fix)"), "\(push)")
        let doctor = try await Program.run("belfry", ["doctor", "apns", file], in: house.folder.path)
        #expect(doctor.status == 1, "\(doctor)")
        #expect(
            doctor.output.contains(
                #""code":"apns.unreachable","text":"notes: APNs cannot be asked (\#(words))","fix":"\#(fix)"#),
            "\(doctor)")
    }

    @Test func `a host that no name service knows is named`() async throws {
        let house = try await APNsHouse()
        let file = try house.pipeline(transport: ["host": "nowhere.invalid"])
        let doctor = try await Program.run("belfry", ["doctor", "apns", file], in: house.folder.path)
        #expect(doctor.status == 1, "\(doctor)")
        #expect(
            doctor.output.contains("notes: APNs cannot be asked (nowhere.invalid:\(house.port) is not found in DNS)"))
        #expect(doctor.output.contains(#""fix":"see host, and this machine's DNS""#), "\(doctor)")
    }

    @Test func `a key that others may read is a mistake in the configuration`() async throws {
        let house = try await APNsHouse()
        chmod(house.key, 0o644)
        let result = try await Self.push(house, house.pipeline())
        #expect(result.status == 78 && result.output == "", "\(result)")
        #expect(result.errors.contains("AuthKey_KEYLOCAL12.p8") && result.errors.contains("chmod"), "\(result)")
    }
}
