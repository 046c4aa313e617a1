/// Changed records of a zone.
package struct ChangesPage: Sendable {
    /// Each changed or deleted record once, as it is now.
    package let records: [StoredRecord]
    /// The token for the next read.
    package let token: String
    package let moreComing: Bool
}

/// Changed zones of a database.
package struct DatabaseChangesPage: Sendable {
    package struct Zone: Hashable, Sendable {
        package let key: ZoneKey
        package let isDeleted: Bool
    }

    /// Each zone once, in the order of its newest change.
    package let zones: [Zone]
    /// The token for the next read.
    package let token: String
    package let moreComing: Bool
}
