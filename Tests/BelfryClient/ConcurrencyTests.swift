import BelfryClient
import Testing

@Suite struct ConcurrencyTests {
    @Test func `a notification can be read in another task`() async throws {
        let notification = try #require(
            CKNotification(fromRemoteNotificationDictionary: Golden.queryDesiredKeys.userInfo) as? CKQueryNotification)
        let title = await Task.detached { notification.recordFields?["title"] as? String }.value
        #expect(title == "Shopping" && notification.title == "Notes")
    }

    @Test func `tasks can change a subscription and its notification info at the same time`() async {
        let subscription = Sample.zone()
        subscription.notificationInfo = CKSubscription.NotificationInfo()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    subscription.recordType = "Note\(number)"
                    subscription.notificationInfo?.desiredKeys = ["key\(number)", "same\(number)"]
                }
            }
        }
        #expect(subscription.recordType?.hasPrefix("Note") == true)
        let keys = subscription.notificationInfo?.desiredKeys?.map { $0.trimmingCharacters(in: .letters) }
        #expect(keys?.count == 2 && keys?.first == keys?.last)
    }
}

@Suite struct FormatTests {
    @Test func `notifications, subscriptions and notification infos can be formatted with %@`() throws {
        let notification = try #require(Golden.zoneSilent.notification)
        let (subscription, info) = (Sample.zone(), Sample.info())
        for _ in 0..<3 {
            let text = String(format: "%@ | %@ | %@ %d", notification, subscription, info, 7)
            #expect(text == "\(notification) | \(subscription) | \(info) 7")
            subscription.recordType = (subscription.recordType ?? "") + "é"
        }
    }
}

@Suite struct SubscriptionPredicateTests {
    @Test func `a subscription returns the predicate object that it was made with`() {
        let made = NSPredicate(format: "title BEGINSWITH %@ AND stars > %d", "H", 3)
        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [made, NSPredicate(format: "stars < 5")])
        let block = NSPredicate { _, _ in true }
        for predicate in [made, both, block, NSPredicate(value: true)] {
            let subscription = query(predicate)
            #expect(subscription.predicate === predicate)
            #expect((subscription.copy() as? CKQuerySubscription)?.predicate === predicate)
        }
    }

    @Test func `an archived subscription is read back with an equal predicate`() throws {
        let made = NSPredicate(format: "title BEGINSWITH %@ AND stars > %d", "H", 3)
        for predicate in [made, NSPredicate(value: true), NSPredicate(value: false)] {
            let data = try NSKeyedArchiver.archivedData(
                withRootObject: query(predicate), requiringSecureCoding: true)
            let back = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuerySubscription.self, from: data)
            #expect(back?.predicate == predicate)
        }
    }

    private func query(_ predicate: NSPredicate) -> CKQuerySubscription {
        CKQuerySubscription(
            recordType: "Note", predicate: predicate, subscriptionID: "q", options: .firesOnRecordCreation)
    }
}
