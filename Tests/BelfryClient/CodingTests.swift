import BelfryClient
import Testing

@Suite struct SubscriptionValueTests {
    @Test func `a copy of a subscription is equal until it is changed`() {
        for subscription in Sample.full() {
            let copy = subscription.copy() as? CKSubscription
            #expect(copy == subscription && copy !== subscription)
            #expect(copy?.hash == subscription.hash)
            #expect(copy.map { type(of: $0) == type(of: subscription) } == true)
            copy?.notificationInfo = CKSubscription.NotificationInfo(title: "another")
            #expect(copy != subscription)
        }
    }

    @Test func `if a property of a copy's notification info is changed, the original stays unchanged`() {
        for subscription in Sample.full() where subscription.notificationInfo != nil {
            let title = subscription.notificationInfo?.title
            let copy = subscription.copy() as? CKSubscription
            copy?.notificationInfo?.title = "changed in place"
            #expect(copy?.notificationInfo?.title == "changed in place")
            #expect(subscription.notificationInfo?.title == title && title != "changed in place")
        }
    }

    @Test func `a subscription copies the notification info that it gets`() {
        let (subscription, info) = (Sample.zone(), Sample.info())
        subscription.notificationInfo = info
        info.title = "changed later"
        #expect(subscription.notificationInfo?.title == "title")
        #expect(info.copy() as? CKSubscription.NotificationInfo == info)
        subscription.notificationInfo?.title = "changed in place"
        #expect(subscription.notificationInfo?.title == "changed in place")
    }

    @Test func `subscriptions with different content are not equal`() {
        let (query, zone, database) = (Sample.query(), Sample.zone(), Sample.database())
        #expect(Set<CKSubscription>([query, zone, database, Sample.query(), Sample.database()]).count == 3)
        #expect(query != Sample.query("title BEGINSWITH 'h'"))
        #expect(query != Sample.query("title BEGINSWITH 'H'", [], .firesOnRecordUpdate))
        #expect(Sample.query("a == %@", ["1"]) != Sample.query("a == %@", [1]))
        #expect(zone != Sample.zone("Tasks"))
        database.recordType = "Note"
        #expect(database != Sample.database())
        #expect(CKDatabaseSubscription(subscriptionID: "\u{E9}") != CKDatabaseSubscription(subscriptionID: "e\u{301}"))
    }

    @Test func `notification infos that differ in one property are not equal`() {
        #expect(CKSubscription.NotificationInfo(alertBody: nil) == CKSubscription.NotificationInfo())
        let info = Sample.info()
        let changes: [(CKSubscription.NotificationInfo) -> Void] = [
            { $0.alertBody = nil }, { $0.alertLocalizationKey = nil }, { $0.alertLocalizationArgs = nil },
            { $0.title = nil }, { $0.titleLocalizationKey = nil }, { $0.titleLocalizationArgs = nil },
            { $0.subtitle = nil }, { $0.subtitleLocalizationKey = nil }, { $0.subtitleLocalizationArgs = nil },
            { $0.alertActionLocalizationKey = nil }, { $0.alertLaunchImage = nil }, { $0.soundName = nil },
            { $0.desiredKeys = nil }, { $0.shouldBadge = false }, { $0.shouldSendContentAvailable = false },
            { $0.shouldSendMutableContent = false }, { $0.category = nil }, { $0.collapseIDKey = nil },
        ]
        for (number, change) in changes.enumerated() {
            let copy = info.copy() as? CKSubscription.NotificationInfo
            copy.map(change)
            #expect(copy != info, "change \(number)")
        }
    }

    @Test func `descriptions show the content, and for subscriptions and notifications also the type`() {
        #expect(Sample.zone().description.hasPrefix("<CKRecordZoneSubscription {\"subscriptionID\":\"zone\""))
        #expect(Sample.query().predicate.description == "title BEGINSWITH 'H'")
        #expect(
            Golden.queryDesiredKeys.notification?.description
                == "<CKQueryNotification 5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e03 of subscription my-notes, recordUpdated "
                + "<CKRecordID record-3 in Notes:\(Golden.alice)> in the private database>")
    }
}

@Suite struct ArchiveTests {
    @Test func `an archived subscription is read back with its class`() throws {
        for subscription in Sample.full() + [Sample.query(), Sample.zone(), Sample.database()] {
            let data = try NSKeyedArchiver.archivedData(withRootObject: subscription, requiringSecureCoding: true)
            let back = try NSKeyedUnarchiver.unarchivedObject(ofClass: type(of: subscription), from: data)
            #expect(back == subscription)
            let base = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKSubscription.self, from: data)
            #expect(base == subscription && base.map { type(of: $0) == type(of: subscription) } == true)
        }
    }

    @Test func `notification infos, IDs, references and locations are read back from an archive`() throws {
        #expect(try archivedAndReadBack(Sample.info()) == Sample.info())
        let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: "_bob")
        let recordID = CKRecord.ID(recordName: "n1", zoneID: zoneID)
        #expect(try archivedAndReadBack(zoneID) == zoneID && archivedAndReadBack(CKRecordZone.ID.default) == .default)
        #expect(try archivedAndReadBack(recordID) == recordID)
        let reference = CKRecord.Reference(recordID: recordID, action: .deleteSelf)
        #expect(try archivedAndReadBack(reference) == reference)
        let place = CLLocation(latitude: -48.25, longitude: 16.1)
        #expect(try archivedAndReadBack(place) == place)
        let id = try #require(Golden.zoneSilent.notification?.notificationID)
        #expect(try archivedAndReadBack(id) == id && id != Golden.databaseSilent.notification?.notificationID)
    }

    @Test func `an invalid subscription in an archive is an error`() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode(
            NSData(data: Data(#"{"subscriptionID":"feed","subscriptionType":"zone"}"#.utf8)), forKey: "belfry")
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.decodingFailurePolicy = .setErrorAndReturn
        #expect(CKRecordZoneSubscription(coder: unarchiver).subscriptionID == "")
        #expect(unarchiver.error != nil)
    }

    private func archivedAndReadBack<T: NSObject & NSSecureCoding>(_ object: T) throws -> T? {
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
        return try NSKeyedUnarchiver.unarchivedObject(ofClass: T.self, from: data)
    }
}
