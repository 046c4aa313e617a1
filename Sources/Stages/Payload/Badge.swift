import CloudKitModel
import JSON

/// The number on an app's icon, for all of a user's devices.
struct Badge: Equatable {
    /// Where a topic's number was set by itself.
    struct Topic: Equatable {
        let name: [UInt8]
        var count: Int
    }

    /// The most topics of one user that have numbers of their own: each is one more payload in every push.
    static let topicsMax = 16

    /// Of every topic that has none of its own.
    private(set) var count = 0
    /// In the order of their names' bytes. None has the number that all others have: it would always keep it.
    private(set) var topics: [Topic] = []

    var isUnset: Bool { count == 0 && topics.isEmpty }

    mutating func raise() {
        count = Badge.next(count)
        for index in topics.indices { topics[index].count = Badge.next(topics[index].count) }
    }

    /// A badge that is full stays so.
    private static func next(_ count: Int) -> Int { min(count + 1, Int(CloudKitLimits.badgeMax)) }

    mutating func set(_ count: Int) {
        self.count = count
        topics = []
    }

    /// - Returns: False, with nothing changed, where the user has too many topics.
    mutating func set(_ count: Int, of name: [UInt8]) -> Bool {
        let index = topics.firstIndex { !$0.name.lexicographicallyPrecedes(name) } ?? topics.count
        let isThere = index < topics.count && topics[index].name == name
        guard isThere || count == self.count || topics.count < Badge.topicsMax else { return false }
        if isThere { topics.remove(at: index) }
        if count != self.count { topics.insert(Topic(name: name, count: count), at: index) }
        return true
    }
}
