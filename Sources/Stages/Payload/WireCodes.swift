import JSON

// The enums with raw values: each raw value is a number in a payload's `ck` dictionary.

enum EnvironmentCode: UInt8 {
    case production = 1
    case development = 2

    var word: StaticString { self == .production ? "production" : "development" }

    init?(_ word: JSONValue) {
        switch word {
        case "production": self = .production
        case "development": self = .development
        default: return nil
        }
    }
}

/// The raw values are not the numbers of `CKDatabase.Scope`: in captured pushes, a private database has the number 1.
enum DatabaseCode: UInt8 {
    case `private` = 1
    case `public` = 2
    case shared = 3

    init?(_ word: JSONValue) {
        switch word {
        case "private": self = .private
        case "public": self = .public
        case "shared": self = .shared
        default: return nil
        }
    }
}

/// The numbers of `CKQueryNotification.Reason`.
enum ChangeReason: UInt8 {
    case created = 1
    case updated = 2
    case deleted = 3

    init?(_ word: JSONValue) {
        switch word {
        case "create": self = .created
        case "update": self = .updated
        case "delete": self = .deleted
        default: return nil
        }
    }
}

/// The type of the subscription. It decides which dictionary is under `ck`.
enum SubscriptionType {
    case query, zone, database

    init?(_ word: JSONValue) {
        switch word {
        case "query": self = .query
        case "zone": self = .zone
        case "database": self = .database
        default: return nil
        }
    }

    /// The key of the dictionary.
    var key: StaticString {
        switch self {
        case .query: "qry"
        case .zone: "fet"
        case .database: "met"
        }
    }
}
