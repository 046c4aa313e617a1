import BelfryClient

extension BelfryUser {
    static let alice = BelfryUser("_alice", container: "iCloud.com.example.Notes", environment: .development)
}

/// Sample subscriptions.
enum Sample {
    static func query(
        _ format: String = "title BEGINSWITH 'H'", _ arguments: [Any] = [],
        _ options: CKQuerySubscription.Options = [.firesOnRecordCreation, .firesOnRecordUpdate]
    ) -> CKQuerySubscription {
        CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(format: format, argumentArray: arguments),
            subscriptionID: "feed", options: options)
    }

    static func zone(_ zoneName: String = "Notes") -> CKRecordZoneSubscription {
        CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: zoneName), subscriptionID: "zone")
    }

    static func database() -> CKDatabaseSubscription { CKDatabaseSubscription(subscriptionID: "all") }

    /// One subscription of each type. All properties are set, except for the database subscription's
    /// notification info.
    static func full() -> [CKSubscription] {
        let query = query(
            "%K == %@ AND stars IN %@", ["state", "open", [1, 2.5]], [.firesOnRecordDeletion, .firesOnce])
        let (zone, database) = (zone(), database())
        query.zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: "_bob")
        (zone.recordType, database.recordType) = ("Note", "Task")
        query.notificationInfo = info()
        zone.notificationInfo = CKSubscription.NotificationInfo()
        return [query, zone, database]
    }

    static func info() -> CKSubscription.NotificationInfo {
        CKSubscription.NotificationInfo(
            alertBody: "body \"😀\"", alertLocalizationKey: "BODY", alertLocalizationArgs: ["a", "b"], title: "title",
            titleLocalizationKey: "TITLE", titleLocalizationArgs: ["b"], subtitle: "subtitle",
            subtitleLocalizationKey: "SUBTITLE", subtitleLocalizationArgs: ["c"], alertActionLocalizationKey: "ACTION",
            alertLaunchImage: "image", soundName: "default", desiredKeys: ["d"], shouldBadge: true,
            shouldSendContentAvailable: true, shouldSendMutableContent: true, category: "category",
            collapseIDKey: "collapse")
    }
}
