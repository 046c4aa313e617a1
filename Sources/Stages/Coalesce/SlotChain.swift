/// The ends of a doubly linked list of slots; ``SlotLinks`` has the links.
struct SlotChain {
    fileprivate(set) var first: Int?
    fileprivate var last: Int?
    fileprivate(set) var count = 0
}

/// The links of doubly linked lists of slots. A slot is in at most one list.
struct SlotLinks {
    private struct Link {
        var previous: Int?
        var next: Int?
    }

    private var links: [Link] = []

    func slots(of chain: SlotChain) -> [Int] {
        var slots: [Int] = []
        var next = chain.first
        while let slot = next {
            slots.append(slot)
            next = links[slot].next
        }
        return slots
    }

    mutating func append(_ slot: Int, to chain: inout SlotChain) {
        while links.count <= slot { links.append(Link()) }
        links[slot] = Link(previous: chain.last)
        if let last = chain.last { links[last].next = slot } else { chain.first = slot }
        chain.last = slot
        chain.count += 1
    }

    mutating func remove(_ slot: Int, from chain: inout SlotChain) {
        let link = links[slot]
        if let previous = link.previous { links[previous].next = link.next } else { chain.first = link.next }
        if let next = link.next { links[next].previous = link.previous } else { chain.last = link.previous }
        links[slot] = Link()
        chain.count -= 1
    }
}
