/// The effects of changed settings on apps and connections, in words for the operator.
struct SettingsChangeSummary {
    let sentences: [String]

    init(from former: (settings: APNsSettings, plans: PoolPlans), to new: (settings: APNsSettings, plans: PoolPlans)) {
        let apps = Self.apps(former.settings, new.settings)
        let pools = Self.pools(former.plans, new.plans)
        sentences = apps + pools
    }

    private static func apps(_ former: APNsSettings, _ new: APNsSettings) -> [String] {
        let (old, now) = (Set(former.apps.map(\.identity)), Set(new.apps.map(\.identity)))
        return [(now.subtracting(old), "added"), (old.subtracting(now), "removed")].compactMap { apps, word in
            apps.isEmpty ? nil : "\(apps.count) \(apps.count == 1 ? "app" : "apps") \(word)"
        }
    }

    private static func pools(_ former: PoolPlans, _ new: PoolPlans) -> [String] {
        let identities = Set(former.pools.keys).union(new.pools.keys).sorted {
            ($0.credential, $0.host) < ($1.credential, $1.host)
        }
        return identities.compactMap { identity in
            let name = "\(identity.credential) at \(identity.host)"
            guard let plan = new.pools[identity] else { return "the connections of \(name) are closed" }
            guard let old = former.pools[identity] else {
                return "connections of \(name) are opened with the next push"
            }
            return plan.needsOtherConnections(than: old) ? "the connections of \(name) are renewed" : nil
        }
    }
}
