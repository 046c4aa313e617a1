import LocalAPNs
import PipelineKit
import Testing

@testable import TransportAPNs

/// Changes settings of an open transport, mostly while pushes are in flight. No push is sent twice, and connections
/// that the change does not concern stay open.
@Suite(.timeLimit(.minutes(5))) struct APNsReload {
    private static let slow = #"{"when":{"token":"aa*"},"do":{"latency":[1500,1500]}}"#
    private static let otherKey = "KEYLOCAL34"

    @Test func `an app is added while pushes of its key are in flight`() async throws {
        try await APNsRig.with(script: [Self.slow], otherKeys: [Self.otherKey]) { rig in
            try await rig.change(to: .notes(), .apart(Self.otherKey))
            #expect(await rig.deliverUntilFinal([apnsPush(1), apnsPush(2, app: .apart)]).count == 2)
            let late = (10..<20).map { apnsPush($0, token: "aa\($0)") }
            try await rig.begin(late)
            let messages = try await rig.change(to: .notes(), .apart(Self.otherKey), .added())
            #expect(messages == ["1 app added", "the connections of TEAMLOCAL1-KEYLOCAL12 at localhost are renewed"])
            let after = [apnsPush(20, app: .added), apnsPush(21, app: .apart), apnsPush(22)]
            #expect(await rig.deliverUntilFinal(after + late).allSatisfy { $0.outcome == .accepted && !$0.mayRepeat })
            let (old, new) = (try rig.connection(of: 1), try rig.connection(of: 20))
            #expect(try late.allSatisfy { try rig.connection(of: $0.id.push) == old })
            #expect(try new > old && rig.connection(of: 22) == new)
            #expect(try rig.connection(of: 21) == rig.connection(of: 2), "another key's connection")
            #expect(rig.apns.receivedCount == 15 && rig.apns.received.allSatisfy { $0.status == 200 && !$0.isRepeat })
            try await rig.waitForEnd(of: old)
        }
    }

    @Test func `an app changes to another key, and pushes in flight are not sent again`() async throws {
        try await APNsRig.with(script: [Self.slow], otherKeys: [Self.otherKey]) { rig in
            let late = (10..<20).map { apnsPush($0, token: "aa\($0)") }
            #expect(await rig.deliver(apnsPush(1))[0].outcome == .accepted)
            try await rig.begin(late)
            let messages = try await rig.change(to: .notes(Self.otherKey))
            #expect(
                messages == [
                    "the connections of TEAMLOCAL1-KEYLOCAL12 at localhost are closed",
                    "connections of TEAMLOCAL1-KEYLOCAL34 at localhost are opened with the next push",
                ])
            let answers = await rig.deliverUntilFinal([apnsPush(20)] + late)
            #expect(answers.allSatisfy { $0.outcome == .accepted && $0.attempts == 1 })
            #expect(rig.apns.receivedCount == 12 && rig.apns.received.allSatisfy { !$0.isRepeat })
            #expect(rig.apns.received.last?.keyID == Self.otherKey)
            #expect(rig.apns.received.filter { $0.keyID == "KEYLOCAL12" }.count == 11)
            try await rig.waitForEnd(of: rig.connection(of: 1))
        }
    }

    @Test func `an app changes to another key while deliver waits, and the push is not sent again`() async throws {
        try await APNsRig.with(script: [Self.slow], otherKeys: [Self.otherKey]) { rig in
            let slow = apnsPush(10, token: "aa")
            async let answer = rig.deliver(slow)
            while rig.apns.receivedCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
            try await rig.change(to: .notes(Self.otherKey))
            for push in 20..<22 { #expect(await rig.deliver(apnsPush(UInt64(push)))[0].outcome == .accepted) }
            let reported = await answer[0]
            #expect(reported.outcome == .accepted && reported.attempts == 1 && !reported.mayRepeat, "\(reported)")
            #expect(rig.apns.received.allSatisfy { !$0.isRepeat })
        }
    }

    @Test func `under a new key, a push waits for earlier pushes with its device token and collapse ID`() async throws {
        try await APNsRig.with(script: [Self.slow], otherKeys: [Self.otherKey]) { rig in
            #expect(await rig.deliver(apnsPush(1))[0].outcome == .accepted)
            let former = apnsPush(10, token: "aa", collapse: "score")
            try await rig.begin([former])
            try await rig.change(to: .notes(Self.otherKey))
            let next = apnsPush(11, token: "aa", collapse: "score")
            let others = [apnsPush(12, token: "ab", collapse: "score"), apnsPush(13, collapse: "score")]
            let answers = await rig.deliver([next] + others)
            #expect(answers.map(\.outcome) == [.deferred, .accepted, .accepted])
            #expect(answers[0].reason == "waits for an earlier push" && answers[0].attempts == 0)
            #expect(answers[0].until == rig.clock.now.advanced(by: .seconds(1)))
            #expect(await rig.deliverUntilFinal(former).outcome == .accepted)
            #expect(await rig.deliver(next)[0].outcome == .accepted)
            #expect(rig.apns.received.last?.keyID == Self.otherKey && rig.apns.receivedCount == 5)
        }
    }

    @Test func `a removed app sends no more pushes, but still gets answers to pushes in flight`() async throws {
        try await APNsRig.with(script: [Self.slow], otherKeys: [Self.otherKey]) { rig in
            try await rig.change(to: .notes(), .apart(Self.otherKey))
            _ = await rig.deliverUntilFinal(apnsPush(1, app: .apart))
            try await rig.begin([apnsPush(2, token: "aa", app: .apart)])
            #expect(try await rig.change(to: .notes()).first == "1 app removed")
            #expect(await rig.deliverUntilFinal(apnsPush(2, token: "aa", app: .apart)).outcome == .accepted)
            #expect(await rig.deliver(apnsPush(3, app: .apart))[0].outcome == .stopped)
            #expect(await rig.deliverUntilFinal(apnsPush(4)).outcome == .accepted)
            #expect(rig.apns.received.count == 3)
        }
    }

    @Test func `a setting that does not concern connections leaves them open`() async throws {
        try await APNsRig.with(otherKeys: [Self.otherKey]) { rig in
            try await rig.change(to: .notes(), .apart(Self.otherKey))
            _ = await rig.deliverUntilFinal([apnsPush(1), apnsPush(2, app: .apart)])
            #expect(try await rig.change("timeout: 5s", to: .notes(), .apart(Self.otherKey)) == [])
            _ = await rig.deliverUntilFinal([apnsPush(3), apnsPush(4, app: .apart)])
            #expect(try rig.connection(of: 3) == rig.connection(of: 1))
            #expect(try rig.connection(of: 4) == rig.connection(of: 2))
        }
    }

    @Test func `settings with a missing key file leave the transport unchanged`() async throws {
        try await APNsRig.with { rig in
            _ = await rig.deliverUntilFinal(apnsPush(1))
            let wrong = App.notes().text.replacing(".p8", with: ".lost")
            let settings = try rig.settings("", [wrong])
            await #expect(throws: TransportError.self) { try await rig.transport.change(to: settings) }
            #expect(await rig.deliver(apnsPush(2))[0].outcome == .accepted)
            #expect(try rig.connection(of: 2) == rig.connection(of: 1))
        }
    }

    @Test func `a corrected key file for the same key ID is used on new connections`() async throws {
        try await APNsRig.with(otherKeys: [Self.otherKey]) { rig in
            let wrong = App.notes("KEYLOCAL12", file: Self.otherKey)
            try await rig.change(to: wrong)
            #expect(await rig.deliver(apnsPush(1))[0].reason == "InvalidProviderToken")
            let messages = try await rig.change(to: .notes())
            #expect(messages == ["the connections of TEAMLOCAL1-KEYLOCAL12 at localhost are renewed"])
            #expect(await rig.deliverUntilFinal(apnsPush(1)).outcome == .accepted)
        }
    }
}

/// An entry under `apps` in the settings.
private struct App {
    let text: String

    static func notes(_ key: String = "KEYLOCAL12", file: String? = nil) -> App {
        App("notes", .notes, key, file: file)
    }
    static func added(_ key: String = "KEYLOCAL12") -> App { App("added", .added, key) }
    /// An app with another key, and so with connections of its own.
    static func apart(_ key: String) -> App { App("apart", .apart, key) }

    private init(_ name: String, _ app: Delivery.App, _ key: String, file: String? = nil) {
        text =
            "\(name): { container: \(app.container), topic: \(app.topic ?? ""), team: TEAMLOCAL1, key: \(key), "
            + "keyFile: { $file: FOLDER/AuthKey_\(file ?? key).p8 } }"
    }
}

extension Delivery.App {
    fileprivate static let notes = APNsRig.app
    fileprivate static let added = Delivery.App(
        container: "iCloud.com.example.Added", environment: "development", topic: "com.example.Added")
    fileprivate static let apart = Delivery.App(
        container: "iCloud.com.example.Apart", environment: "development", topic: "com.example.Apart")
}

extension APNsRig {
    fileprivate func settings(_ more: String, _ apps: [String]) throws -> APNsSettings {
        let text = """
            host: localhost
            port: \(apns.port)
            trust: \(folder)/ca.pem
            \(more)
            apps:
            \(apps.map { "  " + $0.replacing("FOLDER", with: folder) }.joined(separator: "\n"))
            """
        return try SettingsReader(text: text, file: "p.yaml").decode(APNsSettings.self)
    }

    /// - Returns: The messages for the operator.
    @discardableResult
    fileprivate func change(_ more: String = "", to apps: App...) async throws -> [String] {
        let change = try #require(try await transport.change(to: settings(more, apps.map(\.text))))
        await change.apply()
        return change.descriptions
    }

    /// Sends pushes that the server receives but does not answer soon. Meanwhile the window is short: each call of
    /// `deliver` waits only 50 ms for answers, and then defers the pushes.
    fileprivate func begin(_ pushes: [Delivery]) async throws {
        let before = apns.receivedCount
        windowLength.value = .milliseconds(50)
        while apns.receivedCount < before + pushes.count {
            try #require(await deliver(pushes).allSatisfy { $0.outcome == .deferred })
        }
        windowLength.value = .seconds(3_600)
    }

    fileprivate func connection(of push: UInt64) throws -> Int {
        try Int(#require(apns.received.first { $0.id.hasSuffix(String(format: "%012x", push)) }).connection)
    }

    fileprivate func waitForEnd(of connection: Int) async throws {
        for await record in apns.events {
            if record.json.contains(#""event":"close""#), record.json.contains(#""connection":\#(connection),"#) {
                return
            }
        }
    }
}
