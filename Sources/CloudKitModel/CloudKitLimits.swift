/// Every limit of the model, with its source. Lengths are in bytes of UTF-8.
package enum CloudKitLimits {
    // CKRecord.ID: at most 255 ASCII characters.
    package static let recordNameBytesMax = 255
    // CKRecordZone.ID: at most 255 ASCII characters.
    package static let zoneNameBytesMax = 255
    // CloudKit publishes no limit for the following names: Belfry applies the limit of record names.
    package static let recordTypeBytesMax = 255
    package static let fieldNameBytesMax = 255
    package static let subscriptionIDBytesMax = 255
    package static let userNameBytesMax = 255
    package static let deviceNameBytesMax = 255
    package static let containerBytesMax = 255

    // CKSubscription.NotificationInfo.desiredKeys: "You can request a maximum of three keys."
    package static let desiredKeysMax = 3
    // Belfry's own limit for each text of an alert, because the values of all arguments must fit into one payload.
    package static let localizationArgumentsMax = 100
    // APNs, Sending notification requests: apns-collapse-id has at most 64 bytes.
    package static let collapseIDBytesMax = 64

    // APNs only says that a badge is a number. An Apple Watch counts in 32 bits.
    package static let badgeMax = Int64(Int32.max)

    // Belfry's own: a command writes an event for each participant. The events form one batch of the log, and each
    // event may have 2 MB.
    package static let participantsMax = 20
    // CloudKit Web Services Reference, Data Size Limits: at most 200 operations in a request.
    package static let operationsMax = 200
    // CloudKit: a record has at most 1 MB without its assets.
    package static let recordBytesMax = 1_000_000
    // Belfry's own: the events of one `records.modify`, which form one batch of the log.
    package static let modifiedBytesMax = 40_000_000
    // Belfry's own: the name that a producer gives to one of its commands.
    package static let requestBytesMax = 64

    // Belfry's own: APNs tokens have no fixed length, and webhook tokens may be addresses.
    package static let tokenBytesMax = 2048
    package static let topicBytesMax = 255
    package static let transportBytesMax = 64
    // Belfry's own: APNs accepts 8,000 bytes of headers in total.
    package static let headerBytesMax = 4096

    // CLLocationCoordinate2D documents these ranges.
    package static let latitudeRange = -90.0...90.0
    package static let longitudeRange = -180.0...180.0
}
