import Events
import JSON
import Predicates

/// A checked `subscription.save`; but for the predicate, views into the event.
struct Subscription {
    enum Subject: UInt8 {
        case query, zone, database

        var word: StaticString {
            switch self {
            case .query: "query"
            case .zone: "zone"
            case .database: "database"
            }
        }
    }

    /// Who it is: one saved again under the same identity replaces it.
    struct Identity {
        let container: JSONValue
        let environment: JSONValue
        let database: Database
        let user: JSONValue
        let subscriptionID: JSONValue

        /// Container, environment and database tell few apart.
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
    let subject: Subject
    /// The record type watched; nil for all, which a query never is.
    let recordType: JSONValue?
    /// The zone watched.
    let zone: Zone
    let firesOn: Reason
    let firesOnce: Bool
    let predicate: RecordPredicate
    /// A dictionary, if there is one.
    let notificationInfo: JSONValue?

    enum Zone {
        case all
        /// nil for the default zone.
        case one(JSONValue?)
    }

    /// The subscription dictionary.
    var body: JSONValue? { event[.subscription] }
}
