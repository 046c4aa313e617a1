import BelfryClient
import Testing

/// The client refuses a subscription that CloudKit would reject, and the error names the invalid property.
@Suite struct InvalidSubscriptionTests {
    @Test func `an empty subscription ID is refused`() {
        #expect(refusal(CKDatabaseSubscription(subscriptionID: "")) == "subscriptionID name.length")
    }

    @Test func `options without a kind of change are refused`() throws {
        #expect(refusal(Sample.query("TRUEPREDICATE", [], [])) == "querySubscriptionOptions subscription.fires_on")
        #expect(
            refusal(Sample.query("TRUEPREDICATE", [], .firesOnce)) == "querySubscriptionOptions subscription.fires_on")
        let error = try #require(failure(Sample.query("TRUEPREDICATE", [], []), in: .private))
        #expect(error.description.hasPrefix("querySubscriptionOptions: name at least one of firesOnRecordCreation"))
    }

    @Test func `a database that cannot contain the subscription is refused`() {
        let scopes: [(CKSubscription, CKDatabase.Scope)] = [
            (Sample.query(), .shared), (Sample.zone(), .public), (Sample.zone(), .shared), (Sample.database(), .public),
        ]
        for (subscription, scope) in scopes {
            #expect(refusal(subscription, in: scope) == "databaseScope subscription.scope")
            #expect(failure(subscription, in: scope, isStrict: false) == nil)
        }
    }

    @Test func `a fourth desired key and a long collapse ID are refused`() {
        let subscription = Sample.database()
        subscription.notificationInfo = CKSubscription.NotificationInfo(desiredKeys: ["a", "b", "c", "d"])
        #expect(refusal(subscription) == "notificationInfo.desiredKeys[3] notification.desired_keys")
        subscription.notificationInfo = CKSubscription.NotificationInfo(desiredKeys: ["a", "b", "c"])
        #expect(refusal(subscription) == nil)
        subscription.notificationInfo?.collapseIDKey = String(repeating: "x", count: 65)
        #expect(refusal(subscription) == "notificationInfo.collapseIDKey name.length")
        subscription.notificationInfo?.collapseIDKey = String(repeating: "x", count: 64)
        #expect(refusal(subscription) == nil)
    }

    @Test func `an invalid record type and an invalid zone are refused`() {
        let untyped = CKQuerySubscription(
            recordType: "", predicate: NSPredicate(value: true), subscriptionID: "a", options: .firesOnRecordUpdate)
        #expect(refusal(untyped) == "recordType name.length")
        #expect(refusal(Sample.zone("_defaultZone")) == "zoneID.zoneName subscription.zone")
        let query = Sample.query()
        query.zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: "_bob")
        #expect(refusal(query) == "zoneID.ownerName zone.owner")
    }

    @Test func `an invalid predicate is refused`() {
        #expect(refusal(Sample.query("title ==")) == "predicate predicate.syntax")
        #expect(refusal(Sample.query("title == %@")) == "predicate predicate.arguments")
        #expect(refusal(Sample.query("title == %@", ["a", "b"])) == "predicate.arguments[1] predicate.arguments")
        #expect(
            refusal(Sample.query("title == %@ AND a == %@", ["a", BelfryUser.alice]))
                == "predicate.arguments[1] predicate.arguments")
        #expect(refusal(Sample.query("stars > %@", [Double.nan])) == "predicate.arguments[0] predicate.arguments")
        #expect(refusal(Sample.query("a == 1 OR b == 1")) == "predicate predicate.unsupported")
        #expect(failure(Sample.query("a == 1 OR b == 1"), in: .private, isStrict: false) == nil)
        let block = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate { _, _ in true }, subscriptionID: "a",
            options: .firesOnRecordUpdate)
        #expect(refusal(block) == "predicate predicate.unsupported")
    }

    @Test func `an invalid user, an invalid container and an empty ID of a subscription to delete are refused`() {
        let users = [
            (BelfryUser("", container: "iCloud.com.example.Notes"), "user name.length"),
            (BelfryUser("_alice", container: "Notes"), "container container.prefix"),
        ]
        for (user, expected) in users {
            #expect(summary { try user.command(saving: Sample.zone(), in: .private) } == expected)
            #expect(summary { try user.command(deleting: "zone", in: .private) } == expected)
        }
        #expect(summary { try BelfryUser.alice.command(deleting: "", in: .private) } == "subscriptionID name.length")
    }

    /// The property and the code of the refusal; nil if the client accepts the subscription.
    private func refusal(_ subscription: CKSubscription, in scope: CKDatabase.Scope = .private) -> String? {
        summary { try BelfryUser.alice.command(saving: subscription, in: scope) }
    }

    private func failure(
        _ subscription: CKSubscription, in scope: CKDatabase.Scope, isStrict: Bool = true
    ) -> InvalidSubscription? {
        do {
            _ = try BelfryUser.alice.command(saving: subscription, in: scope, isStrict: isStrict)
            return nil
        } catch {
            return error
        }
    }

    private func summary(ofRefusal body: () throws -> String) -> String? {
        do {
            _ = try body()
            return nil
        } catch let error as InvalidSubscription {
            return "\(error.property) \(error.code)"
        } catch {
            return "\(error)"
        }
    }
}
