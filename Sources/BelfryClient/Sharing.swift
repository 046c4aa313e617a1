// @unchecked holds because all that these classes store is `let`: Sendable values, state behind a `Mutex`, and a
// predicate, which never changes. Swift checks that only of final classes, and CloudKit's are open: apps extend them, and
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
