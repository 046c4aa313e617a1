import BelfryClient
import Testing

@Suite struct GoldenPayloadTests {
    private let owner = CKRecord.ID(recordName: Golden.alice)
    private let notes = CKRecordZone.ID(zoneName: "Notes", ownerName: Golden.alice)

    @Test func `the client reads the payload of a silent database subscription`() throws {
        let notification = try #require(Golden.databaseSilent.notification as? CKDatabaseNotification)
        #expect(notification.notificationType == .database)
        #expect(notification.databaseScope == .private)
        #expect(notification.subscriptionID == "all-private")
        #expect(notification.containerIdentifier == "iCloud.com.example.Notes")
        #expect(notification.subscriptionOwnerUserRecordID == owner)
        #expect(notification.notificationID?.description == "5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e05")
        #expect(!notification.isPruned)
        #expect(notification.alertBody == nil && notification.badge == nil && notification.soundName == nil)
    }

    @Test func `the client reads the payload of a query subscription with alert, badge and sound`() throws {
        let notification = try #require(Golden.queryAlertBadge.notification as? CKQueryNotification)
        #expect(notification.notificationType == .query)
        #expect(notification.alertBody == "A note was added" && notification.title == nil)
        #expect(notification.badge == 7 && notification.soundName == "default")
        #expect(notification.queryNotificationReason == .recordCreated)
        #expect(notification.recordID == CKRecord.ID(recordName: "record-2", zoneID: notes))
        #expect(notification.recordFields == nil)
        #expect(notification.databaseScope == .private && notification.subscriptionID == "my-notes")
    }

    @Test func `the client reads the payload of a query subscription with desired keys`() throws {
        let notification = try #require(Golden.queryDesiredKeys.notification as? CKQueryNotification)
        #expect(notification.alertBody == "Shopping changed" && notification.title == "Notes")
        #expect(notification.queryNotificationReason == .recordUpdated)
        #expect(notification.recordFields?.count == 2)
        #expect(notification.recordFields?["title"] as? String == "Shopping")
        #expect(notification.recordFields?["stars"] as? Int == 5)
        #expect(notification.badge == nil)
    }

    @Test func `the client reads the payload of a silent query subscription on the public database`() throws {
        let notification = try #require(Golden.queryPublicSilent.notification as? CKQueryNotification)
        #expect(notification.databaseScope == .public)
        let zoneID = CKRecordZone.ID(zoneName: CKRecordZone.ID.defaultZoneName, ownerName: "_defaultOwner")
        #expect(notification.recordID == CKRecord.ID(recordName: "record-1", zoneID: zoneID))
    }

    @Test func `the client reads the payload of a silent zone subscription`() throws {
        let notification = try #require(Golden.zoneSilent.notification as? CKRecordZoneNotification)
        #expect(notification.notificationType == .recordZone)
        #expect(notification.recordZoneID == notes)
        #expect(notification.databaseScope == .private && notification.subscriptionID == "zone-notes")
    }

    @Test func `bytes and a dictionary with the same payload give equal notifications`() {
        for pushed in [Golden.databaseSilent, Golden.queryAlertBadge, Golden.queryDesiredKeys, Golden.zoneSilent] {
            let notification = CKNotification(fromRemoteNotificationPayload: pushed.text.utf8)
            #expect(notification != nil && notification == pushed.notification)
            #expect(notification?.hash == pushed.notification?.hash)
        }
    }
}

@Suite struct UnusualPayloadTests {
    @Test(arguments: [
        "", "x", "[]", "7", #"{"aps":{"alert":"Hi"}}"#, #"{"ck":7}"#, #"{"ck":{"qry":"x"}}"#,
        #"{"ck":{"nid":"1","qry":{"sid":"feed"}}}"#, #"{"ck":{"qry":{"dbs":0}}}"#, #"{"ck":{"fet":{"dbs":4}}}"#,
        #"{"ck":{"met":{"dbs":"1"}}}"#,
    ])
    func `a payload without a CloudKit notification gives nil`(text: String) {
        #expect(CKNotification(fromRemoteNotificationPayload: text.utf8) == nil)
        #expect(Pushed(text).notification == nil)
    }

    @Test func `a payload of an unknown kind gives a notification of the base class`() throws {
        let text = #"{"aps":{"alert":"Hi"},"ck":{"nid":"n","cid":"iCloud.a","new":{"sid":"feed","dbs":1}}}"#
        let notification = try #require(Pushed(text).notification)
        #expect(type(of: notification) == CKNotification.self)
        #expect(notification.notificationType == .unknown && notification.notificationType.rawValue == 0)
        #expect(notification.notificationID?.description == "n" && notification.containerIdentifier == "iCloud.a")
        #expect(notification.subscriptionID == nil && notification.alertBody == "Hi" && !notification.isPruned)
        #expect(Pushed(#"{"ck":{}}"#).notification?.notificationType == .unknown)
        #expect(CKQueryNotification(fromRemoteNotificationPayload: text.utf8) == nil)
    }

    @Test func `invalid members of a payload are ignored`() throws {
        let text = #"{"aps":7,"ck":{"p":0,"nid":5,"ckuserid":[],"qry":{"dbs":3,"fo":9,"rid":"r","zid":"Z","af":[]}}}"#
        let notification = try #require(Pushed(text).notification as? CKQueryNotification)
        #expect(notification.isPruned)
        #expect(notification.containerIdentifier == "Unknown Container")
        #expect(notification.notificationID == nil && notification.subscriptionOwnerUserRecordID == nil)
        #expect(notification.subscriptionID == nil && notification.recordFields == nil)
        #expect(notification.databaseScope == .shared)
        #expect(notification.queryNotificationReason == .recordCreated)
        #expect(notification.recordID == nil, "the payload does not name the owner of the zone")
        #expect(notification == notification)
        #expect(notification != Pushed(text).notification, "two notifications without an ID are never equal")
    }

    @Test func `a subclass gives nil for a payload of another subclass`() {
        #expect(CKQueryNotification(fromRemoteNotificationDictionary: Golden.zoneSilent.userInfo) == nil)
        #expect(CKRecordZoneNotification(fromRemoteNotificationDictionary: Golden.zoneSilent.userInfo) != nil)
    }
}

@Suite struct PayloadValueTests {
    @Test func `values of record fields get the types of CloudKit`() throws {
        let text =
            #"{"ck":{"qry":{"dbs":1,"fo":1,"rid":"r","zid":"Z","zoid":"_o","af":{"place":{"latitude":48.2,"#
            + #""longitude":16},"near":{"recordName":"a","action":"DELETE_SELF"},"when":1767225600500,"#
            + #""far":{"recordName":"b","zoneID":{"zoneName":"Y"}}}}}}"#
        let notification = try #require(Pushed(text).notification as? CKQueryNotification)
        let fields = try #require(notification.recordFields)
        #expect(fields["place"] as? CLLocation == CLLocation(latitude: 48.2, longitude: 16))
        let near = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Z", ownerName: "_o"))
        #expect(fields["near"] as? CKReference == CKReference(recordID: near, action: .deleteSelf))
        let far = CKRecord.ID(recordName: "b", zoneID: CKRecordZone.ID(zoneName: "Y"))
        #expect(fields["far"] as? CKReference == CKReference(recordID: far, action: .none))
        #expect(notification.date(forKey: "when") == Date(timeIntervalSince1970: 1_767_225_600.5))
        #expect(notification.date(forKey: "place") == nil)
    }

    @Test func `lists, objects, nulls, numbers and strings of record fields are read as JSON values`() throws {
        let text =
            #"{"ck":{"qry":{"dbs":1,"af":{"list":["a",1],"more":{"of":{"it":2.5}},"none":null,"n":18446744073709551615}}}}"#
        let notification = try #require(Pushed(text).notification as? CKQueryNotification)
        let fields = try #require(notification.recordFields)
        #expect((fields["list"] as? [Any])?.first as? String == "a")
        #expect(((fields["more"] as? [String: Any])?["of"] as? [String: Any])?["it"] as? Double == 2.5)
        #expect(fields["none"] is NSNull && fields["n"] as? UInt64 == .max)
        let literals: [AnyHashable: Any] = ["ck": ["qry": ["dbs": 1, "af": ["stars": 5, "title": "Hi"]]]]
        let literal = CKQueryNotification(fromRemoteNotificationDictionary: literals)
        #expect(literal?.recordFields?["stars"] as? Int == 5 && literal?.recordFields?["title"] as? String == "Hi")
    }

    @Test func `the arguments of a localized alert are read as strings`() throws {
        let text =
            #"{"aps":{"alert":{"loc-key":"K","loc-args":["a",5,2.5],"title-loc-key":"T","title-loc-args":["b"],"#
            + #""subtitle-loc-key":"S","subtitle-loc-args":[],"action-loc-key":"A","launch-image":"i","subtitle":"s"},"#
            + #""category":"c"},"ck":{"met":{"dbs":3}}}"#
        let notification = try #require(Pushed(text).notification)
        #expect(notification.alertLocalizationKey == "K" && notification.alertLocalizationArgs == ["a", "5", "2.5"])
        #expect(notification.titleLocalizationKey == "T" && notification.titleLocalizationArgs == ["b"])
        #expect(notification.subtitleLocalizationKey == "S" && notification.subtitleLocalizationArgs == [])
        #expect(notification.alertActionLocalizationKey == "A" && notification.alertLaunchImage == "i")
        #expect(notification.subtitle == "s" && notification.category == "c" && notification.alertBody == nil)
    }
}
