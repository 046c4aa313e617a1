import CloudKitModel

/// The operation that a request asks for: the last two parts of its path.
///
/// The operations are a selection from the CloudKit Web Services Reference. Only `notifications/*` are Belfry's own.
enum Operation: String, CaseIterable, Sendable {
    case recordsModify = "records/modify"
    case recordsQuery = "records/query"
    case recordsLookup = "records/lookup"
    case recordsChanges = "records/changes"
    case changesZone = "changes/zone"
    case changesDatabase = "changes/database"
    case zonesList = "zones/list"
    case zonesLookup = "zones/lookup"
    case zonesModify = "zones/modify"
    case zonesChanges = "zones/changes"
    case subscriptionsList = "subscriptions/list"
    case subscriptionsLookup = "subscriptions/lookup"
    case subscriptionsModify = "subscriptions/modify"
    case tokensCreate = "tokens/create"
    case tokensRegister = "tokens/register"
    case usersCaller = "users/caller"
    case usersCurrent = "users/current"
    case assetsUpload = "assets/upload"
    case notificationsChanges = "notifications/changes"
    case notificationsRead = "notifications/read"

    /// The databases in which the operation can be called. A path that begins with `/device` names no database.
    var databases: Set<DatabaseScope> {
        switch self {
        case .recordsChanges, .changesZone, .changesDatabase, .zonesChanges: [.private, .shared]
        case .zonesModify: [.private]
        default: [.public, .private, .shared]
        }
    }

    /// Whether the operation changes data. A read-only key cannot call such an operation.
    var writes: Bool {
        switch self {
        case .recordsModify, .zonesModify, .subscriptionsModify, .tokensCreate, .tokensRegister, .assetsUpload,
            .notificationsRead:
            true
        default: false
        }
    }

    /// Whether the operation's path may begin with `/device` and name no database. A path that begins with `/database`
    /// is accepted too.
    var isOfDevice: Bool { self == .tokensCreate || self == .tokensRegister }

    /// The operations for lists and for the user can be called with GET. They can also be called with POST, because
    /// some clients send `POST` and `{}`.
    var methods: [String] {
        switch self {
        case .zonesList, .subscriptionsList, .usersCaller, .usersCurrent: ["GET", "POST"]
        default: ["POST"]
        }
    }
}
