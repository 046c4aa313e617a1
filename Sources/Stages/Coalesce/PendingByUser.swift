/// The slots of each user's pending notifications, the oldest first. A held notification is no longer pending once the
/// limit per user has made it due early.
///
/// The slots of a user are a ring: the slot before the first is the last.
struct PendingByUser {
    private struct Link {
        var previous: UInt32 = 0
        var next: UInt32 = 0
        /// The hash of the user.
        var hash: UInt32 = 0
        /// If this is the user's first slot: how many slots the user has. Otherwise 0.
        var count: UInt32 = 0
    }

    private var links: [Link] = []
    /// The first slot of each user.
    private var firsts = SlotTable()

    /// The first slot of a user; nil if the user has none.
    ///
    /// - Parameter isOfUser: Whether a slot belongs to the user.
    func first(_ hash: UInt32, where isOfUser: (Int) -> Bool) -> Int? {
        firsts.first(hash) { links[$0].hash == hash && isOfUser($0) }
    }

    /// The number of slots of the user whose first slot this is.
    func count(from first: Int) -> Int { Int(links[first].count) }

    mutating func append(_ slot: Int, _ hash: UInt32, where isOfUser: (Int) -> Bool) {
        while links.count <= slot { links.append(Link()) }
        let number = UInt32(slot)
        guard let first = first(hash, where: isOfUser) else {
            links[slot] = Link(previous: number, next: number, hash: hash, count: 1)
            return firsts.insert(slot) { links[$0].hash }
        }
        let last = links[first].previous
        links[slot] = Link(previous: last, next: UInt32(first), hash: hash)
        links[Int(last)].next = number
        links[first].previous = number
        links[first].count += 1
    }

    mutating func remove(_ slot: Int, where isOfUser: (Int) -> Bool) {
        let link = links[slot]
        guard let first = link.count > 0 ? slot : first(link.hash, where: isOfUser) else {
            preconditionFailure("no pending list for a user with held notifications")
        }
        defer { links[slot] = Link() }
        if links[first].count == 1 { return firsts.remove(slot) { links[$0].hash } }
        let next = Int(link.next)
        links[Int(link.previous)].next = link.next
        links[next].previous = link.previous
        if first == slot {
            links[next].count = link.count - 1
            firsts.replace(slot, with: next, link.hash)
        } else {
            links[first].count -= 1
        }
    }
}
