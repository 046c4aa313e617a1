/// Saved queries that are alike, of which the first are named and the others counted.
struct QueryGroup: Sendable {
    /// How many are named.
    static let namedMax = 100

    /// In the order in which they were saved; never empty.
    private(set) var named: [SavedQuery]
    private(set) var count = 1

    init(_ first: SavedQuery) { named = [first] }

    var first: SavedQuery { named[0] }

    mutating func add(_ query: SavedQuery) {
        count += 1
        if named.count < QueryGroup.namedMax { named.append(query) }
    }

    /// What is alike in them.
    struct Key: Hashable {
        private let container: String
        private let environment: String
        private let database: String
        private let recordType: String
        private let shape: [String]

        init(_ query: SavedQuery, shape: [String]) {
            (container, environment) = (query.container, query.environment)
            (database, recordType, self.shape) = (query.database, query.recordType, shape)
        }
    }
}
