import Events
import JSON
import Predicates

/// A parsed `subscription.save`. Its JSON values are views into the event.
struct Subscription {
    enum SubscriptionType: UInt8 {
        case query, zone, database

        var word: StaticString {
            switch self {
            case .query: "query"
            case .zone: "zone"
            case .database: "database"
            }
        }
    }

    /// Identifies a subscription. A newer subscription with the same identity replaces the older subscription.
    struct Identity {
        let container: JSONValue
        let environment: JSONValue
        let database: Database
        let user: JSONValue
        let subscriptionID: JSONValue

        /// The hash leaves out container, environment and database, which have few different values.
        var hash: Int {
            unsafe user.withUTF8 { user in
                unsafe subscriptionID.withUTF8 { unsafe Identity.hash(user: user, subscriptionID: $0) } ?? 0
            }
                ?? 0
        }

        static func hash(user: UnsafeRawBufferPointer, subscriptionID: UnsafeRawBufferPointer) -> Int {
            unsafe ByteHash.of(subscriptionID, salt: UInt64(bitPattern: Int64(ByteHash.of(user))))
        }
    }

    let event: JSONValue
    let identity: Identity
    let subscriptionType: SubscriptionType
    /// The watched record type; nil for all types. A query always has a record type.
    let recordType: JSONValue?
    let zone: Zone
    let firesOn: Reason
    let firesOnce: Bool
    let predicate: RecordPredicate
    let notificationInfo: JSONValue?

    enum Zone {
        /// All zones. For a database subscription: all zones except the default zone.
        case all
        /// The name of the zone. Nil if the subscription names no zone; it then watches the default zone.
        case one(JSONValue?)
    }

    /// The subscription dictionary.
    var body: JSONValue? { event[.subscription] }
}
