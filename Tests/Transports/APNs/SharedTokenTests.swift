import Foundation
import LocalAPNs
import PipelineKit
import Signing
import Synchronization
import TestSupport
import Testing
import Time

@testable import TransportAPNs

/// Tests that everything that uses a key shares one token: pools, transports and other processes.
@Suite(.timeLimit(.minutes(5))) struct SharedTokens {
    private static let start = Instant(rfc3339: "2026-01-01T00:00:00Z")!
    private static let age = Duration.seconds(2_400)
    private static let privateKey = PrivateKey()

    private static func key(_ privateKey: PrivateKey = privateKey) throws -> TransportAPNs.SigningKey {
        try SigningKey(id: "KEY1234567", team: "ABCDE12345", pem: privateKey.pem)
    }

    private static func token(
        of key: TransportAPNs.SigningKey, in folder: Folder, jitter: @escaping @Sendable () -> Double = { 0.5 }
    ) -> SharedToken {
        let context = TransportContext(name: "apns", folder: folder.path) { _ in }
        return StageTokens().token(of: key, context, jitter: jitter)
    }

    @Test func `transports of a stage with the same key send the same tokens`() async throws {
        try await APNsRig.with(script: [#"{"quirks":{"tokenUpdates":"key"}}"#]) { rig in
            let resources = SharedResources()
            var transports: [APNsTransport] = []
            for name in ["apns", "two"] {
                var context = TransportContext(name: name) { _ in }
                context.sharedResources = resources
                transports.append(
                    try APNsRig.transport(to: rig.apns.port, in: rig.folder, clock: rig.clock, context: context))
            }
            for transport in transports { try await transport.open() }
            for number: UInt64 in 1...6 {
                let reported = await transports[Int(number % 2)].deliver([apnsPush(number)])[0]
                #expect(reported.outcome == .accepted && reported.attempts == 1, "\(reported)")
                rig.clock.advance(by: .seconds(15 * 60))
                try await rig.apns.control(#"{"clock":"+15m"}"#)
            }
            #expect(Set(rig.apns.received.map(\.tokenIssuedAt)).count == 2)
            for transport in transports { await transport.close() }
        }
    }

    @Test func `both environments of a key have one token and one file`() async throws {
        let folder = try Folder()
        let secret = try folder.write(Self.privateKey.pem + "\n", to: "AuthKey_KEY1234567.p8")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
        let app = "team: ABCDE12345, key: KEY1234567, keyFile: { $file: \(secret) }"
        let text = """
            apps:
              dev: { container: iCloud.Notes, topic: Notes, \(app) }
              prod: { container: iCloud.Notes, topic: Notes, environment: production, \(app) }
            """
        let settings = try SettingsReader(text: text, file: "p.yaml").decode(APNsSettings.self)
        let context = TransportContext(name: "apns", folder: folder.path) { _ in }
        let tokens = StageTokens()
        let plans = try PoolPlans(settings) { tokens.token(of: $0, context, jitter: { 0.5 }) }
        var fields = plans.pools.values.map(SharedFields.init)
        #expect(fields.count == 2)
        #expect(try Self.authorizations(&fields, at: Self.start).count == 1)
        let later = Self.start.advanced(by: .seconds(25 * 60))
        let before = try Self.authorizations(&fields, at: later)
        try fields[0].replaceExpiredToken(at: later)
        let after = try Self.authorizations(&fields, at: later)
        #expect(
            after.count == 1 && after != before, "when one pool replaces the token, the other sends the new one at once"
        )
        fields[1].keepToken(at: later)
        let due = later.advanced(by: .seconds(45 * 60))
        fields[1].keepToken(at: due.advanced(by: .seconds(-60)))
        #expect(try Self.authorizations(&fields, at: due) == after, "kept, because APNs counted too many tokens")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".token") }
                == ["ABCDE12345-KEY1234567.token"])
        #expect(
            try Self.token(of: Self.key(), in: folder).current(at: later, age: Self.age).text
                == after.first?.dropFirst("bearer ".count).description)
    }

    private static func authorizations(_ fields: inout [SharedFields], at now: Instant) throws -> Set<String> {
        var found: Set<String> = []
        for index in fields.indices {
            let kind = fields[index].index(of: .init(topic: "Notes", pushType: "alert", priority: "10"))
            let all = try fields[index].current(kind, at: now)
            found.formUnion(all.filter { $0.name == "authorization" }.map(\.value))
        }
        return found
    }

    @Test func `a corrected key has another token, and the old token is freed when nothing uses it`() throws {
        let tokens = StageTokens()
        let context = TransportContext(name: "apns") { _ in }
        var old: SharedToken? = tokens.token(of: try Self.key(), context, jitter: { 0.5 })
        #expect(tokens.token(of: try Self.key(), context, jitter: { 0.5 }) === old)
        let mended = tokens.token(of: try Self.key(PrivateKey()), context, jitter: { 0.5 })
        #expect(mended !== old)
        weak let gone = old
        old = nil
        #expect(gone == nil)
    }

    @Test func `a stage makes no token of its own if another process has made a newer one`() throws {
        let folder = try Folder()
        let stage = try Self.token(of: Self.key(), in: folder)
        let first = try stage.current(at: Self.start, age: Self.age)
        let due = Self.start.advanced(by: .seconds(2_400))
        let newer = try Self.token(of: Self.key(), in: folder).current(at: due, age: Self.age)
        #expect(newer != first)
        #expect(try stage.current(at: due, age: Self.age) == newer)
        let refused = due.advanced(by: .seconds(1_500))
        let other = try Self.token(of: Self.key(), in: folder)
        try other.replaceExpired(at: refused)
        try stage.replaceExpired(at: refused)
        #expect(try stage.current(at: refused, age: Self.age) == other.current(at: refused, age: Self.age))
    }

    @Test func `the operator is told when a token cannot be stored`() throws {
        let messages = Mutex<[String]>([])
        var context = TransportContext(name: "apns", folder: "/dev/null/none") { _ in }
        context.tell = { line in messages.withLock { $0.append(line) } }
        let token = StageTokens().token(of: try Self.key(), context, jitter: { 0.5 })
        _ = try token.current(at: Self.start, age: Self.age)
        #expect(messages.withLock { $0.count == 1 && $0[0].hasPrefix("apns: cannot write /dev/null/none/ABCDE12345-") })
    }

    // MARK: Jitter

    @Test(arguments: [
        (40, 0.5, 40), (40, 0, 36), (40, 1, 44), (25, 0, 25), (25, 1, 29), (55, 0, 51), (55, 1, 55),
    ])
    func `the age at which a token is replaced varies at random within bounds`(
        _ asked: Int, _ jitter: Double, _ minutes: Int
    ) throws {
        let draws = Mutex(0)
        var keeper = TokenKeeper(try Self.key()) {
            draws.withLock { $0 += 1 }
            return jitter
        }
        let age = Duration.seconds(asked * 60)
        let first = try keeper.current(at: Self.start, age: age).0
        let due = Self.start.advanced(by: .seconds(minutes * 60))
        #expect(try keeper.current(at: due.advanced(by: .milliseconds(-1)), age: age).0 == first)
        #expect(draws.withLock { $0 } == 1, "one draw for each token")
        #expect(try keeper.current(at: due, age: age).isNew)
        #expect(draws.withLock { $0 } == 2)
    }

    @Test func `a stored token keeps the random age at which it is replaced`() throws {
        let folder = try Folder()
        let first = try Self.token(of: Self.key(), in: folder, jitter: { 1 }).current(at: Self.start, age: Self.age)
        let again = try Self.token(of: Self.key(), in: folder, jitter: { 0 })
        #expect(try again.current(at: Self.start.advanced(by: .seconds(43 * 60)), age: Self.age) == first)
        #expect(try again.current(at: Self.start.advanced(by: .seconds(44 * 60)), age: Self.age) != first)
    }
}
