/// A group of similar saved queries.
struct QueryGroup: Sendable {
    /// The most queries in ``named``; the others are only counted.
    static let namedMax = 100

    /// The first queries of the group in the order of their saves. The group has at least one query.
    private(set) var named: [SavedQuery]
    private(set) var count = 1

    init(_ first: SavedQuery) { named = [first] }

    var first: SavedQuery { named[0] }

    mutating func add(_ query: SavedQuery) {
        count += 1
        if named.count < QueryGroup.namedMax { named.append(query) }
    }
}
