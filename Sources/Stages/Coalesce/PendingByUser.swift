/// The slots of held notifications for each user, the oldest first.
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
