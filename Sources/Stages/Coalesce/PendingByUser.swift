/// Whom notifications are held for: for each user the slots, the one that was held first in front.
struct PendingByUser {
    private var chains: [UserKey: SlotChain] = [:]
    private var links = SlotLinks()

    func count(of user: UserKey) -> Int { chains[user]?.count ?? 0 }

    func first(of user: UserKey) -> Int? { chains[user]?.first }

    mutating func append(_ slot: Int, of user: UserKey) { links.append(slot, to: &chains[user, default: SlotChain()]) }

    mutating func remove(_ slot: Int, of user: UserKey) {
        guard var chain = chains.removeValue(forKey: user) else {
            preconditionFailure("a user has what is held for them")
        }
        links.remove(slot, from: &chain)
        if chain.count > 0 { chains[user] = chain }
    }
}
