import JSON

// The raw values are the numbers that CloudKit's clients read in a payload's `ck` dictionary.

enum ContainerEnvironment: UInt8 {
    case production = 1
    case development = 2

    var word: StaticString { self == .production ? "production" : "development" }

    init?(_ word: JSONValue) {
        if word.equals("production") {
            self = .production
        } else if word.equals("development") {
            self = .development
        } else {
            return nil
        }
    }
}

/// Not the numbers of `CKDatabase.Scope`: captured pushes of private databases carry 1.
enum DatabaseScope: UInt8 {
    case `private` = 1
    case `public` = 2
    case shared = 3

    init?(_ word: JSONValue) {
        if word.equals("private") {
            self = .private
        } else if word.equals("public") {
            self = .public
        } else if word.equals("shared") {
            self = .shared
        } else {
            return nil
        }
    }
}

/// The numbers of `CKQueryNotification.Reason`.
enum ChangeReason: UInt8 {
    case created = 1
    case updated = 2
    case deleted = 3

    init?(_ word: JSONValue) {
        if word.equals("create") {
            self = .created
        } else if word.equals("update") {
            self = .updated
        } else if word.equals("delete") {
            self = .deleted
        } else {
            return nil
        }
    }
}

/// Which dictionary under `ck` tells the client what kind of notification this is.
enum SubscriptionFamily {
    case query, zone, database

    init?(_ word: JSONValue) {
        if word.equals("query") {
            self = .query
        } else if word.equals("zone") {
            self = .zone
        } else if word.equals("database") {
            self = .database
        } else {
            return nil
        }
    }

    /// The dictionary's key, as it is written.
    var key: StaticString {
        switch self {
        case .query: "qry"
        case .zone: "fet"
        case .database: "met"
        }
    }
}
