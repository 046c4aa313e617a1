import BelfryClient

// The source of an app for Apple's systems. Only the line above was changed: the app has `import CloudKit` there.

extension CKNotification {
    static let familyName = "CloudKit"

    convenience init?(userInfo: [AnyHashable: Any]) { self.init(fromRemoteNotificationDictionary: userInfo) }

    var isMine: Bool { subscriptionID?.hasPrefix("notes") ?? false }

    func isFor(_ user: CKRecord.ID) -> Bool { subscriptionOwnerUserRecordID?.recordName == user.recordName }

    var kind: String {
        switch notificationType {
        case .query: return "query"
        case .recordZone: return "zone"
        case .readNotification: return "read"
        case .database: return "database"
        #if swift(>=6)
            default: return "new"
        #endif
        }
    }
}

protocol Refreshing {
    associatedtype Place: Hashable
    var place: Place? { get }
}

extension CKQueryNotification: Refreshing {
    var place: CKRecord.ID? { recordID }
    var isDeletion: Bool { queryNotificationReason == .recordDeleted }
    subscript(field: CKRecord.FieldKey) -> String? { recordFields?[field] as? String }
}

extension CKRecordZoneNotification: Refreshing {
    var place: CKRecordZone.ID? { recordZoneID }
}

extension CKDatabaseNotification: Refreshing {
    var place: CKDatabase.Scope? { databaseScope }
}

extension CKQueryNotification.Reason: Comparable {
    public static func < (first: CKQueryNotification.Reason, second: CKQueryNotification.Reason) -> Bool {
        first.rawValue < second.rawValue
    }

    var word: String {
        switch self {
        case .recordCreated: return "created"
        case .recordUpdated: return "updated"
        case .recordDeleted: return "deleted"
        @unknown default: return "changed"
        }
    }
}

extension Sequence where Element: CKNotification {
    var subscriptionIDs: Set<CKSubscription.ID> { Set(compactMap(\.subscriptionID)) }
}

class PreviewNotification: CKQueryNotification, @unchecked Sendable {
    override var recordID: CKRecord.ID? { CKRecord.ID(inNotes: "preview") }
    override var alertBody: String? { "Preview" }
}

/// Handles pushes and saves subscriptions, as an app delegate does.
@MainActor
final class NotesModel {
    private(set) var last: CKNotification?
    private(set) var subscriptions: [CKSubscription.ID: CKSubscription] = [:]
    private let sync = NotesSync()

    func didReceive(_ userInfo: [AnyHashable: Any]) async -> Bool {
        guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else { return false }
        last = notification
        let isKnown = await sync.handle(notification)
        return isKnown && notification.isMine
    }

    func install(_ subscription: CKSubscription) async -> CKSubscription {
        let saved = await sync.save(subscription)
        subscriptions[saved.subscriptionID] = saved
        return saved
    }
}

actor NotesSync {
    static let shared = NotesSync()
    static let everything: CKSubscription = .databaseChanges()

    private var changed: Set<CKRecord.ID> = []
    private var zones: Set<CKRecordZone.ID> = []
    private var saved: [CKSubscription] = []

    func handle(_ notification: CKNotification) -> Bool {
        switch notification {
        case let query as CKQueryNotification:
            guard let recordID = query.recordID else { return false }
            changed.insert(recordID)
        case let zone as CKRecordZoneNotification:
            guard let zoneID = zone.recordZoneID else { return false }
            zones.insert(zoneID)
        default:
            return notification is CKDatabaseNotification
        }
        return true
    }

    func save(_ subscription: CKSubscription) async -> CKSubscription {
        saved.append(subscription)
        return await Task.detached(priority: .utility) { () -> CKSubscription in
            subscription.notificationInfo?.shouldBadge = true
            return subscription
        }.value
    }
}

enum Pushes {
    /// The notifications in these dictionaries.
    static func stream(of userInfos: [[AnyHashable: Any]]) -> AsyncStream<CKNotification> {
        AsyncStream { continuation in
            for notification in userInfos.compactMap(CKNotification.init(fromRemoteNotificationDictionary:)) {
                continuation.yield(notification)
            }
            continuation.finish()
        }
    }

    static func onQueue(_ notification: CKNotification) async -> String {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: notification.kind) }
        }
    }
}
