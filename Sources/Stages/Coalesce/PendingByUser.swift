/// The slots of each user's held notifications, the oldest first. A notification that leaves because of the limit per
/// user is not in the list.
struct PendingByUser {
    private var chains: [UserKey: SlotChain] = [:]
    private var links = SlotLinks()

    func count(of user: UserKey) -> Int { chains[user]?.count ?? 0 }

    func first(of user: UserKey) -> Int? { chains[user]?.first }

    mutating func append(_ slot: Int, of user: UserKey) { links.append(slot, to: &chains[user, default: SlotChain()]) }

    mutating func remove(_ slot: Int, of user: UserKey) {
        guard var chain = chains.removeValue(forKey: user) else {
            preconditionFailure("no pending list for a user with held notifications")
        }
        links.remove(slot, from: &chain)
        if chain.count > 0 { chains[user] = chain }
    }
}
