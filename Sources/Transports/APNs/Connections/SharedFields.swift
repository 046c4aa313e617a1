import Time

/// The header fields that a pool's requests share: the authority, the token, and the fields of each kind of push.
struct SharedFields {
    private let authority: SharedField
    private var token: SharedToken?
    private var tokenAge = Duration.zero
    /// The token in ``authorization``.
    private var adopted: ProviderToken?
    private var edition = 0
    private var authorization: SharedField?
    private var kinds: [APNsPush.Kind: Int] = [:]
    /// The kind that was looked up last: consecutive pushes mostly have the same kind.
    private var last: (kind: APNsPush.Kind, index: Int)?
    /// The fields of each kind, without the authority and the token.
    private var own: [[SharedField]] = []
    /// The result of ``current(_:at:)`` for each kind; nil until the first call for the kind, and again after a change
    /// of the token.
    private var whole: [[SharedField]?] = []
    private var nextID = 1
    private var lastCheck = Instant.epoch

    init(_ plan: PoolPlan) {
        authority = SharedField(id: 0, name: ":authority", value: plan.authority)
        use(plan)
    }

    /// Uses the token of the plan from now on.
    mutating func use(_ plan: PoolPlan) {
        (token, tokenAge) = (plan.token, plan.tokenAge)
        (authorization, adopted, lastCheck) = (nil, nil, .epoch)
        whole = whole.map { _ in nil }
    }

    /// The kind's number, which never changes.
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

    /// The fields of a kind, with the current token.
    mutating func current(_ index: Int, at now: Instant) throws -> [SharedField] {
        try refreshToken(at: now)
        if let fields = whole[index] { return fields }
        let fields = [authority] + [authorization].compactMap { $0 } + own[index]
        whole[index] = fields
        return fields
    }

    /// Replaces a token that APNs called expired, if ``SharedToken/replaceExpired(at:)`` allows it.
    func replaceExpiredToken(at now: Instant) throws { try token?.replaceExpired(at: now) }

    /// Makes no new token for a while, because APNs counted too many tokens.
    func keepToken(at now: Instant) { token?.pauseReplacement(at: now) }

    /// Adopts the key's current token. Asks ``SharedToken`` for it, which may make a new one. Asks again only after a
    /// second, or at once if the token was replaced.
    private mutating func refreshToken(at now: Instant) throws {
        guard let token else { return }
        let newest = token.edition
        guard newest != edition || now - lastCheck >= .seconds(1) || now < lastCheck else { return }
        (lastCheck, edition) = (now, newest)
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
