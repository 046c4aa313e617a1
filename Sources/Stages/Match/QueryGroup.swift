/// A group of similar saved queries.
struct QueryGroup: Sendable {
    /// The most queries in ``listed``; the others are only counted.
    static let listedMax = 100

    /// The first queries of the group in the order of their saves. The group has at least one query.
    private(set) var listed: [SavedQuery]
    private(set) var count = 1

    init(_ first: SavedQuery) { listed = [first] }

    var first: SavedQuery { listed[0] }

    mutating func add(_ query: SavedQuery) {
        count += 1
        if listed.count < QueryGroup.listedMax { listed.append(query) }
    }
}
