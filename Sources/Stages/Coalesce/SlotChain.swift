/// Slots one behind the other; any may leave. The links are kept apart, so that a slot is in one chain at a time.
struct SlotChain {
    fileprivate(set) var first: Int?
    fileprivate var last: Int?
    private(set) var count = 0

    fileprivate mutating func count(_ change: Int) { count += change }
}

/// For each slot the one before it and the one behind it in its chain.
struct SlotLinks {
    private struct Link {
        var before: Int?
        var behind: Int?
    }

    private var links: [Link] = []

    func slots(of chain: SlotChain) -> [Int] {
        var slots: [Int] = []
        var next = chain.first
        while let slot = next {
            slots.append(slot)
            next = links[slot].behind
        }
        return slots
    }

    mutating func append(_ slot: Int, to chain: inout SlotChain) {
        while links.count <= slot { links.append(Link()) }
        links[slot] = Link(before: chain.last)
        if let last = chain.last { links[last].behind = slot } else { chain.first = slot }
        chain.last = slot
        chain.count(1)
    }

    mutating func remove(_ slot: Int, from chain: inout SlotChain) {
        let link = links[slot]
        if let before = link.before { links[before].behind = link.behind } else { chain.first = link.behind }
        if let behind = link.behind { links[behind].before = link.before } else { chain.last = link.before }
        links[slot] = Link()
        chain.count(-1)
    }
}
