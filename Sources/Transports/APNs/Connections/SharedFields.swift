import Time

/// The header fields that a pool's requests share: the token's, and those of each kind of push.
struct SharedFields {
    private let authority: SharedField
    private var token: SharedToken?
    private var tokenAge = Duration.zero
    /// The token that ``authorization`` has.
    private var adopted: ProviderToken?
    private var edition = 0
    private var authorization: SharedField?
    private var kinds: [APNsPush.Kind: Int] = [:]
    /// The kind that was looked up last: most pushes of a window are of one.
    private var last: (kind: APNsPush.Kind, index: Int)?
    private var own: [[SharedField]] = []
    /// What ``current(_:at:)`` gives, as long as the token stays.
    private var whole: [[SharedField]?] = []
    private var nextID = 1
    private var checked = Instant.epoch

    init(_ plan: PoolPlan) {
        authority = SharedField(id: 0, name: ":authority", value: plan.authority)
        use(plan)
    }

    /// Goes on with the plan's token.
    mutating func use(_ plan: PoolPlan) {
        (token, tokenAge) = (plan.token, plan.tokenAge)
        (authorization, adopted, checked) = (nil, nil, .epoch)
        whole = whole.map { _ in nil }
    }

    /// The kind's number, for as long as the pool lives.
    mutating func index(of kind: APNsPush.Kind) -> Int {
        if let last, last.kind == kind { return last.index }
        if let index = kinds[kind] {
            last = (kind, index)
            return index
        }
        own.append([
            field("apns-topic", kind.topic), field("apns-push-type", kind.pushType),
            field("apns-priority", kind.priority),
        ])
        whole.append(nil)
        kinds[kind] = own.count - 1
        return own.count - 1
    }

    /// The fields of a kind, with the token of this moment.
    mutating func current(_ index: Int, at now: Instant) throws -> [SharedField] {
        try lookAtToken(at: now)
        if let fields = whole[index] { return fields }
        let fields = [authority] + [authorization].compactMap { $0 } + own[index]
        whole[index] = fields
        return fields
    }

    /// APNs called the token expired: a new one is made where the last is old enough.
    func refuseToken(at now: Instant) throws { try token?.refuse(at: now) }

    /// APNs counted too many tokens.
    func keepToken(at now: Instant) { token?.keep(at: now) }

    /// A token lasts for minutes: to look once a second is enough, and where another pool has come to a new one.
    private mutating func lookAtToken(at now: Instant) throws {
        guard let token else { return }
        let newest = token.edition
        guard newest != edition || now - checked >= .seconds(1) || now < checked else { return }
        (checked, edition) = (now, newest)
        let current = try token.current(at: now, age: tokenAge)
        if current != adopted { adopt(current) }
    }

    private mutating func adopt(_ token: ProviderToken) {
        adopted = token
        authorization = field("authorization", "bearer \(token.text)")
        whole = whole.map { _ in nil }
    }

    private mutating func field(_ name: String, _ value: String) -> SharedField {
        defer { nextID += 1 }
        return SharedField(id: nextID, name: name, value: value)
    }
}
