// `@unchecked` is safe: these classes store only `let` properties, which are Sendable values, a `Mutex`, or a predicate
// that never changes. Swift checks this only for final classes. These classes are open like CloudKit's, so that apps
// may subclass them.

extension CKSubscription: @unchecked Sendable {}
extension CKQuerySubscription: @unchecked Sendable {}
extension CKRecordZoneSubscription: @unchecked Sendable {}
extension CKDatabaseSubscription: @unchecked Sendable {}
extension CKNotificationInfo: @unchecked Sendable {}

extension CKNotification: @unchecked Sendable {}
extension CKQueryNotification: @unchecked Sendable {}
extension CKRecordZoneNotification: @unchecked Sendable {}
extension CKDatabaseNotification: @unchecked Sendable {}
extension CKNotificationID: @unchecked Sendable {}

extension CKRecordID: @unchecked Sendable {}
extension CKRecordZoneID: @unchecked Sendable {}
extension CKReference: @unchecked Sendable {}
extension CLLocation: @unchecked Sendable {}
