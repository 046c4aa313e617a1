import BelfryTestKit
import PipelineTestKit
import TestSupport
import Testing

@testable import BelfryClient

@Suite struct CommandTests {
    private static let start =
        #"{"type":"subscription.save","container":"iCloud.com.example.Notes","environment":"development","database":"#

    @Test func `subscriptions are written as commands of the ingest stage`() throws {
        let query = Sample.query("title BEGINSWITH 'H' AND stars > %d", [3])
        query.notificationInfo = CKSubscription.NotificationInfo(alertBody: "A note for you", desiredKeys: ["title"])
        #expect(
            try BelfryUser.alice.command(saving: query, in: .private)
                == Self.start + #""private","user":"_alice","subscription":{"subscriptionID":"feed","#
                + #""subscriptionType":"query","query":{"recordType":"Note","#
                + #""predicate":"title BEGINSWITH 'H' AND stars > %@","arguments":[3]},"zoneWide":true,"#
                + #""firesOn":["create","update"],"#
                + #""notificationInfo":{"alertBody":"A note for you","desiredKeys":["title"]}}}"#)
        #expect(
            try BelfryUser.alice.command(saving: Sample.zone(), in: .private)
                == Self.start + #""private","user":"_alice","subscription":{"subscriptionID":"zone","#
                + #""subscriptionType":"zone","zoneID":{"zoneName":"Notes"}}}"#)
        #expect(
            try BelfryUser.alice.command(saving: Sample.database(), in: .shared)
                == Self.start + #""shared","user":"_alice","subscription":{"subscriptionID":"all","#
                + #""subscriptionType":"database"}}"#)
        #expect(
            try BelfryUser.alice.command(deleting: "all", in: .shared)
                == #"{"type":"subscription.delete","container":"iCloud.com.example.Notes","environment":"development","#
                + #""database":"shared","user":"_alice","subscriptionID":"all"}"#)
    }

    @Test func `ingest accepts and refuses the same subscriptions as the client, with the same codes`() async throws {
        let seed = Seeded.ofThisRun
        var random = Seeded(seed)
        let belfry = try await TestPipeline.start(yaml: yaml)
        var (accepted, refused) = (0, 0)
        for number in 0..<300 {
            let drawn = DrawnSubscription(number, using: &random)
            let raw = drawn.rawCommand
            let admission = try await belfry.send(drawn.command ?? raw)
            #expect(admission.refusals.first?.code == drawn.refusal, "seed \(seed), \(number): \(raw)")
            if drawn.refusal == nil { accepted += 1 } else { refused += 1 }
        }
        #expect(accepted > 30 && refused > 30, "seed \(seed)")
        try await belfry.stop()
    }
}

let yaml = """
    pipeline: client
    stages:
      ingest: {}
      match: {from: ingest}
      coalesce: {from: match}
      payload: {from: coalesce}
      deliver: {from: payload, transports: {apns: {use: console}}}
    """

/// A random subscription in a random database. It may break a rule.
private struct DrawnSubscription {
    let subscription: CKSubscription
    let scope: CKDatabase.Scope

    init(_ number: Int, using random: inout Seeded) {
        scope = random.one(of: [.public, .private, .private, .shared])
        let id = random.isOneIn(20) ? "" : "s\(number)"
        switch random.below(3) {
        case 0: subscription = CKDatabaseSubscription(subscriptionID: id)
        case 1:
            let zoneName = random.one(of: ["Notes", "Tasks", "_defaultZone", "é", ""])
            subscription = CKRecordZoneSubscription(
                zoneID: CKRecordZone.ID(
                    zoneName: zoneName, ownerName: random.one(of: ["_alice", "_bob", CKCurrentUserDefaultName])),
                subscriptionID: id)
        default: subscription = DrawnSubscription.query(id, using: &random)
        }
        if random.isOneIn(2) { subscription.notificationInfo = DrawnSubscription.info(using: &random) }
    }

    private static func query(_ id: String, using random: inout Seeded) -> CKQuerySubscription {
        let predicates: [NSPredicate] = [
            NSPredicate(value: true), NSPredicate(value: false), NSPredicate(format: "title BEGINSWITH %@", "H\"\\"),
            NSPredicate(format: "%K > %f AND 'x%d' == %K", "stars", 2.5, "title"),
            NSPredicate(format: "recordID == %@", CKRecord.ID(recordName: "n1")),
            NSPredicate(format: "author == %@", CKReference(recordID: CKRecord.ID(recordName: "n1"), action: .none)),
            NSPredicate(
                format: "distanceToLocation:fromLocation:(place, %@) < %@", CLLocation(latitude: 48, longitude: 16), 500
            ),
            NSPredicate(format: "when > %@ AND stars IN %@", Date(timeIntervalSince1970: 1_767_225_600), [1, 2, 3]),
            NSPredicate(format: "hash == %@", Data([1, 2, 3])), NSPredicate(format: "done == %@", true),
            NSPredicate(format: "done == %@ AND n == %@", NSNumber(value: true), NSNumber(value: 2.5)),
            NSCompoundPredicate(andPredicateWithSubpredicates: [
                NSPredicate(format: "a == %@", 1), NSPredicate(format: "b == %@", "2"), NSPredicate(value: true),
            ]),
            NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate(format: "a == 1")),
            NSCompoundPredicate(orPredicateWithSubpredicates: [
                NSPredicate(format: "a == 1"), NSPredicate(format: "b == 1"),
            ]),
            NSPredicate(format: "a =="), NSPredicate(format: "a == %@"), NSPredicate(format: "%K == 1", "a b"),
        ]
        let subscription = CKQuerySubscription(
            recordType: random.one(of: ["Note", "Note", "Task", "", "a b"]), predicate: random.one(of: predicates),
            subscriptionID: id, options: CKQuerySubscription.Options(rawValue: UInt(random.below(16))))
        if random.isOneIn(3) {
            subscription.zoneID = CKRecordZone.ID(zoneName: random.one(of: ["Notes", "_defaultZone", "_x"]))
        }
        return subscription
    }

    private static func info(using random: inout Seeded) -> CKSubscription.NotificationInfo {
        CKSubscription.NotificationInfo(
            alertBody: random.one(of: [nil, "", "Hi \u{1} \"there\" 😀"]),
            alertLocalizationArgs: random.one(of: [[], ["title"], ["a", "b", "a"], ["no name"]]),
            soundName: random.one(of: [nil, "default"]),
            desiredKeys: random.one(of: [[], ["title"], ["a", "b", "c"], ["a", "b", "c", "d"], ["a", "a"]]),
            shouldBadge: random.isOneIn(2), shouldSendContentAvailable: random.isOneIn(2),
            collapseIDKey: random.one(of: [nil, "notes", " ", String(repeating: "x", count: 65)]))
    }

    /// The client's command; nil if the client refuses the subscription.
    var command: String? {
        do { return try BelfryUser.alice.command(saving: subscription, in: scope) } catch { return nil }
    }

    /// The code of the client's refusal; nil if the client accepts the subscription.
    var refusal: String? {
        do {
            _ = try BelfryUser.alice.command(saving: subscription, in: scope)
            return nil
        } catch {
            return error.code
        }
    }

    /// The command that the client would make without checks.
    var rawCommand: String {
        #"{"type":"subscription.save","container":"iCloud.com.example.Notes","environment":"development","#
            + #""database":"\#(scope)","user":"_alice","subscription":\#(subscription.form.json)}"#
    }
}
