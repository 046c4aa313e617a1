import BelfryClient
import Testing

/// Uses the symbols that Apple's pages name, as a CloudKit app would.
@Suite struct SymbolTests {
    @Test func `the symbols of CKSubscription have CloudKit's names`() {
        let id: CKSubscription.ID = "feed"
        let subscription: CKSubscription = CKDatabaseSubscription(subscriptionID: id)
        #expect(subscription.subscriptionID == "feed")
        #expect(subscription.subscriptionType == CKSubscription.SubscriptionType.database)
        #expect(subscription.notificationInfo == nil)
        let types: [CKSubscription.SubscriptionType] = [.query, .recordZone, .database]
        #expect(types.map(\.rawValue) == [1, 2, 3])
        #expect(types == [1, 2, 3].map { CKSubscription.SubscriptionType(rawValue: $0) })
        #expect(CKSubscription.SubscriptionType(rawValue: 4) == nil)
    }

    @Test func `the properties of a new CKSubscription.NotificationInfo are unset`() {
        let info = CKSubscription.NotificationInfo()
        let texts: [String?] = [
            info.alertBody, info.alertLocalizationKey, info.title, info.titleLocalizationKey, info.subtitle,
            info.subtitleLocalizationKey, info.alertActionLocalizationKey, info.alertLaunchImage, info.soundName,
            info.category, info.collapseIDKey,
        ]
        let lists: [[CKRecord.FieldKey]?] = [
            info.alertLocalizationArgs, info.titleLocalizationArgs, info.subtitleLocalizationArgs, info.desiredKeys,
        ]
        #expect(texts.allSatisfy { $0 == nil } && lists.allSatisfy { $0 == nil })
        #expect(!info.shouldBadge && !info.shouldSendContentAvailable && !info.shouldSendMutableContent)
    }

    @Test func `the initializer of CKSubscription.NotificationInfo has all eighteen properties`() {
        let info = CKSubscription.NotificationInfo(
            alertBody: "body", alertLocalizationKey: "BODY", alertLocalizationArgs: ["a"], title: "title",
            titleLocalizationKey: "TITLE", titleLocalizationArgs: ["b"], subtitle: "subtitle",
            subtitleLocalizationKey: "SUBTITLE", subtitleLocalizationArgs: ["c"], alertActionLocalizationKey: "ACTION",
            alertLaunchImage: "image", soundName: "default", desiredKeys: ["d"], shouldBadge: true,
            shouldSendContentAvailable: true, shouldSendMutableContent: true, category: "category",
            collapseIDKey: "collapse")
        #expect([info.alertBody, info.title, info.subtitle] == ["body", "title", "subtitle"])
        #expect(
            [info.alertLocalizationKey, info.titleLocalizationKey, info.subtitleLocalizationKey]
                == ["BODY", "TITLE", "SUBTITLE"])
        #expect(
            [info.alertLocalizationArgs, info.titleLocalizationArgs, info.subtitleLocalizationArgs, info.desiredKeys]
                == [["a"], ["b"], ["c"], ["d"]])
        #expect(
            [info.alertActionLocalizationKey, info.alertLaunchImage, info.soundName] == ["ACTION", "image", "default"])
        #expect([info.category, info.collapseIDKey] == ["category", "collapse"])
        #expect(info.shouldBadge && info.shouldSendContentAvailable && info.shouldSendMutableContent)
        #expect(CKSubscription.NotificationInfo(title: "t").desiredKeys == [])
    }

    @Test func `the symbols of CKRecordZoneSubscription have CloudKit's names`() {
        let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
        let subscription = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "feed-changes")
        #expect(subscription.recordType == nil)
        subscription.recordType = "FeedItem"
        let info = CKNotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        #expect(subscription.zoneID == zoneID && subscription.recordType == "FeedItem")
        #expect(subscription.notificationInfo?.shouldSendContentAvailable == true)
        #expect(subscription.subscriptionType == .recordZone)
    }

    @Test func `the symbols of CKQuerySubscription and its options have CloudKit's names`() {
        let options: CKQuerySubscription.Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion, .firesOnce,
        ]
        #expect(options.rawValue == 15)
        let predicate = NSPredicate(format: "%K == %@ AND stars > %@", "state", "open", 3)
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: predicate, subscriptionID: "open", options: options)
        subscription.zoneID = CKRecordZone.ID(zoneName: "Notes")
        #expect(subscription.recordType == "Note" && subscription.predicate == predicate)
        #expect(subscription.querySubscriptionOptions == options && subscription.subscriptionType == .query)
        #expect(subscription.zoneID?.zoneName == "Notes")
    }

    @Test func `a subscription that is made without an ID gets a random ID`() {
        let unnamed: [CKSubscription] = (0..<2).flatMap { _ in (Deprecated() as any OldInitializers).subscriptions }
        #expect(Set(unnamed.map(\.subscriptionID)).count == 6)
        #expect(unnamed.allSatisfy { UUID(uuidString: $0.subscriptionID) != nil })
    }

    @Test func `the symbols of CKQueryNotification, its reasons and scope have CloudKit's names`() throws {
        let reasons: [CKQueryNotification.Reason] = [.recordCreated, .recordUpdated, .recordDeleted]
        #expect(reasons.map(\.rawValue) == [1, 2, 3])
        #expect(CKQueryNotification.Reason(rawValue: 0) == nil && CKQueryNotification.Reason(rawValue: 4) == nil)
        let scopes: [CKDatabase.Scope] = [.public, .private, .shared]
        #expect(scopes.map(\.rawValue) == [1, 2, 3])
        let notification = try #require(
            CKNotification(fromRemoteNotificationDictionary: Golden.queryDesiredKeys.userInfo) as? CKQueryNotification)
        let scope: CKDatabase.Scope = notification.databaseScope
        let reason: CKQueryNotification.Reason = notification.queryNotificationReason
        let recordID: CKRecord.ID? = notification.recordID
        let fields: [String: Any]? = notification.recordFields
        #expect(scope == .private && reason == .recordUpdated && recordID?.recordName == "record-3")
        #expect(fields?["title"] as? String == "Shopping" && fields?["stars"] as? Int == 5)
    }

    @Test func `the symbols of the kinds of notifications have CloudKit's names`() {
        let types: [CKNotification.NotificationType] = [.query, .recordZone, .readNotification, .database]
        #expect(types.map(\.rawValue) == [1, 2, 3, 4])
    }

    @Test func `subscriptions, IDs and references can be copied and archived, and notifications can be hashed`() {
        func conforms<T: NSObject & NSCopying & NSSecureCoding>(_ type: T.Type) -> Bool { T.supportsSecureCoding }
        #expect(conforms(CKSubscription.self) && conforms(CKQuerySubscription.self))
        #expect(conforms(CKRecordZoneSubscription.self) && conforms(CKDatabaseSubscription.self))
        #expect(conforms(CKSubscription.NotificationInfo.self) && conforms(CKNotification.ID.self))
        #expect(conforms(CKRecord.ID.self) && conforms(CKRecordZone.ID.self) && conforms(CKReference.self))
        func describes<T: Hashable & CustomStringConvertible & CustomDebugStringConvertible>(_ type: T.Type) {}
        describes(CKQueryNotification.self)
        describes(CKDatabaseNotification.self)
        describes(CKRecordZoneNotification.self)
        describes(CKSubscription.self)
    }

    @Test func `subscriptions and notifications are Sendable and CVarArg, and their enums are Sendable`() {
        func isShared<T: NSObject & Sendable & SendableMetatype & CVarArg>(_ type: T.Type) {}
        isShared(CKSubscription.self)
        isShared(CKQuerySubscription.self)
        isShared(CKRecordZoneSubscription.self)
        isShared(CKDatabaseSubscription.self)
        isShared(CKSubscription.NotificationInfo.self)
        isShared(CKNotification.self)
        isShared(CKQueryNotification.self)
        isShared(CKRecordZoneNotification.self)
        isShared(CKDatabaseNotification.self)
        func isSendableEnum<T: Sendable & SendableMetatype & BitwiseCopyable & Hashable & RawRepresentable>(
            _ type: T.Type
        ) {}
        isSendableEnum(CKQueryNotification.Reason.self)
        isSendableEnum(CKSubscription.SubscriptionType.self)
        isSendableEnum(CKNotification.NotificationType.self)
    }
}

private protocol OldInitializers { var subscriptions: [CKSubscription] { get } }

private struct Deprecated: OldInitializers {
    @available(*, deprecated)
    var subscriptions: [CKSubscription] {
        [
            CKDatabaseSubscription(), CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Notes")),
            CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(value: true), options: .firesOnRecordCreation),
        ]
    }
}
