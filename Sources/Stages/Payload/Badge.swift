import CloudKitModel
import JSON

/// The numbers on the icons of a user's apps, one number for each topic. All devices of the user get the same numbers.
struct Badge: Equatable {
    /// A topic with a number of its own.
    struct Topic: Equatable {
        let name: [UInt8]
        var count: Int
    }

    /// The most topics of one user with numbers of their own. There is a limit because each such topic adds a payload
    /// to every push with a badge.
    static let topicsMax = 16

    /// The number on the icon of each topic that has no number of its own.
    private(set) var count = 0
    /// The topics with numbers of their own, sorted by the bytes of the names. A topic that is set to `count` is not
    /// listed, because both numbers then rise together. A listed topic may have the same number as `count` only at the
    /// highest badge, where both numbers stop.
    private(set) var topics: [Topic] = []

    var isUnset: Bool { count == 0 && topics.isEmpty }

    /// Adds one to all numbers, up to the maximum.
    ///
    /// - Returns: The new badge.
    mutating func raise() -> Badge {
        count = Badge.next(count)
        for index in topics.indices { topics[index].count = Badge.next(topics[index].count) }
        return self
    }

    private static func next(_ count: Int) -> Int { min(count + 1, Int(CloudKitLimits.badgeMax)) }

    /// Sets the number of all topics. Afterwards no topic has a number of its own.
    mutating func set(_ count: Int) {
        self.count = count
        topics = []
    }

    /// Adds a topic from a snapshot, after all other topics.
    ///
    /// - Returns: Whether the topic was added; false if it does not come after the others, if there are too many
    ///   topics, or if its number is `count` and below the maximum (see ``topics``).
    mutating func append(_ topic: Topic) -> Bool {
        let isLast = topics.last.map { $0.name.lexicographicallyPrecedes(topic.name) } ?? true
        let isListed = topic.count != count || count == Int(CloudKitLimits.badgeMax)
        guard isLast, isListed, topics.count < Badge.topicsMax else { return false }
        topics.append(topic)
        return true
    }

    /// - Returns: Whether the number was set; false if the user has too many topics.
    mutating func set(_ count: Int, of name: [UInt8]) -> Bool {
        let index = topics.firstIndex { !$0.name.lexicographicallyPrecedes(name) } ?? topics.count
        let isListed = index < topics.count && topics[index].name == name
        guard isListed || count == self.count || topics.count < Badge.topicsMax else { return false }
        if isListed { topics.remove(at: index) }
        if count != self.count { topics.insert(Topic(name: name, count: count), at: index) }
        return true
    }
}
