import Predicates

/// A saved subscription: what it watches, and what its matches are told.
struct Subscription {
    enum Subject {
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
    struct Identity: Hashable {
        let container: [UInt8]
        let environment: [UInt8]
        let database: Database
        let user: [UInt8]
        let subscriptionID: [UInt8]

        /// Container and environment tell few apart.
        func hash(into hasher: inout Hasher) {
            hasher.combine(database)
            user.withUnsafeBytes { hasher.combine(bytes: $0) }
            subscriptionID.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    /// A field that its notifications need.
    struct Copied {
        let field: String
        /// Desired keys have no place in a delete's notification; localization arguments have.
        let isForDeletes: Bool
    }

    let identity: Identity
    let subject: Subject
    /// The record type watched; nil for all, which a query never is.
    let recordType: [UInt8]?
    /// The zone watched; nil for all.
    let zone: [UInt8]?
    let firesOn: Reason
    let firesOnce: Bool
    let predicate: RecordPredicate
    /// In the order in which matches hold them.
    let copied: [Copied]
    /// What is the same in every match: `"container":…` to `"subscriptionType":…`.
    let head: [UInt8]
    /// The event that saved it.
    let text: [UInt8]
    /// Where in the text its notification info stands, if it has one.
    let notificationInfo: Range<Int>?
}
