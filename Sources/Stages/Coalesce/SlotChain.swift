/// The ends of a doubly linked list of slots; ``SlotLinks`` has the links.
struct SlotChain {
    fileprivate(set) var first: Int?
    fileprivate var last: Int?
}

/// The links of doubly linked lists of slots. A slot is in at most one list.
struct SlotLinks {
    /// The numbers of the slots before and after a slot, plus one; 0 at the ends of the list.
    private struct Link {
        var previous: UInt32 = 0
        var next: UInt32 = 0
    }

    private var links: [Link] = []

    func slots(of chain: SlotChain) -> [Int] {
        var slots: [Int] = []
        var next = chain.first
        while let slot = next {
            slots.append(slot)
            next = SlotLinks.slot(links[slot].next)
        }
        return slots
    }

    mutating func append(_ slot: Int, to chain: inout SlotChain) {
        while links.count <= slot { links.append(Link()) }
        links[slot] = Link(previous: SlotLinks.number(chain.last))
        if let last = chain.last { links[last].next = SlotLinks.number(slot) } else { chain.first = slot }
        chain.last = slot
    }

    mutating func remove(_ slot: Int, from chain: inout SlotChain) {
        let (previous, next) = (SlotLinks.slot(links[slot].previous), SlotLinks.slot(links[slot].next))
        if let previous { links[previous].next = links[slot].next } else { chain.first = next }
        if let next { links[next].previous = links[slot].previous } else { chain.last = previous }
        links[slot] = Link()
    }

    private static func slot(_ number: UInt32) -> Int? { number == 0 ? nil : Int(number) - 1 }
    private static func number(_ slot: Int?) -> UInt32 { slot.map { UInt32($0) + 1 } ?? 0 }
}
