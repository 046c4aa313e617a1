// @unchecked holds because these classes store only `let` properties: Sendable values, state behind a `Mutex`, and a
// predicate, which never changes. Swift checks this only for final classes. CloudKit's classes are open, because apps may
// subclass them.

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
