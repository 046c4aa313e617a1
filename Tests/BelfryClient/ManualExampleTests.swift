import BelfryClient
import BelfryTestKit
import PipelineTestKit
import Testing

@Suite struct ManualExampleTests {
    @Test func `the page on the client shows the code that is compiled here`() throws {
        let here = URL(fileURLWithPath: #filePath)
        let source = try String(contentsOf: here, encoding: .utf8)
        let parts = source.components(separatedBy: "        // Manual\n")
        #expect(parts.count == 5)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = root.appending(path: "Sources/BelfryTool/Belfry.docc/Client.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        for example in [parts[1], parts[3]] {
            let lines = example.split(separator: "\n", omittingEmptySubsequences: false).map { $0.dropFirst(8) }
            #expect(lines.count > 3 && text.contains(lines.joined(separator: "\n")))
        }
    }

    @Test func `the example reads the title of a note`() async throws {
        let belfry = try await TestPipeline.start(yaml: yaml)
        try await belfry.send(
            #"{"type":"device.register","container":"iCloud.com.example.Notes","environment":"development","#
                + #""user":"_alice","device":"phone","transport":"apns","token":"1","topic":"com.example.Notes"}"#)
        try await belfry.send(Self.command())
        try await belfry.send(
            #"{"type":"record.save","container":"iCloud.com.example.Notes","environment":"development","#
                + #""database":"private","owner":"_alice","record":{"recordName":"n1","recordType":"Note","#
                + #""fields":{"title":{"value":"Hello"},"stars":{"value":4}}}}"#)
        try await belfry.advance(by: .seconds(10))
        let push = try JSONSerialization.jsonObject(with: Data(await belfry.nextPush().utf8)) as? [String: Any]
        let userInfo = try #require(push?["payload"] as? [String: Any])
        #expect(Self.title(userInfo) == "Hello")
        try await belfry.stop()
    }

    private static func command() throws -> String {
        // Manual
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(format: "stars > %d", 3), subscriptionID: "feed",
            options: [.firesOnRecordCreation, .firesOnRecordUpdate])
        subscription.notificationInfo = CKSubscription.NotificationInfo(
            alertBody: "A note for you", desiredKeys: ["title"])

        let alice = BelfryUser("_alice", container: "iCloud.com.example.Notes", environment: .development)
        let line = try alice.command(saving: subscription, in: .private)
        // Manual
        return line
    }

    private static func title(_ userInfo: [AnyHashable: Any]) -> String? {
        // Manual
        let notification = CKNotification(fromRemoteNotificationDictionary: userInfo)
        guard let query = notification as? CKQueryNotification else { return nil }
        return query.recordFields?["title"] as? String
        // Manual
    }
}
