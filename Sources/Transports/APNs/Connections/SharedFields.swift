import EventLog

/// The header fields that a pool's requests share: the token's, and those of each kind of push.
struct SharedFields {
    private let authority: SharedField
    private var keeper: TokenKeeper?
    private var tokenFile: TokenFile?
    private var authorization: SharedField?
    private var kinds: [APNsPush.Kind: Int] = [:]
    private var own: [[SharedField]] = []
    /// What ``current(_:at:)`` gives, as long as the token stays.
    private var whole: [[SharedField]?] = []
    private var nextID = 1
    private var checked = Instant.epoch
    /// Why the token will not outlive this process; nil where it will.
    private(set) var keepingFailure: TokenFileError?

    init(_ plan: PoolPlan) {
        authority = SharedField(id: 0, name: ":authority", value: plan.authority)
        use(plan)
    }

    /// Goes on with the plan's key, and with its token where that is still the key's.
    mutating func use(_ plan: PoolPlan) {
        tokenFile = plan.tokenFile.map(TokenFile.init)
        let kept = keeper?.token ?? tokenFile?.read()
        keeper = plan.key.map { TokenKeeper($0, kept: kept, refreshAge: plan.tokenAge) }
        (authorization, checked) = (nil, .epoch)
        whole = whole.map { _ in nil }
    }

    /// The kind's number, for as long as the pool lives.
    mutating func index(of kind: APNsPush.Kind) -> Int {
        if let index = kinds[kind] { return index }
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
        // A token lasts for minutes: to look once a second is enough.
        if now - checked >= .seconds(1) || now < checked {
            checked = now
            try renewIfDue(at: now)
        }
        if let fields = whole[index] { return fields }
        let fields = [authority] + [authorization].compactMap { $0 } + own[index]
        whole[index] = fields
        return fields
    }

    /// APNs called the token expired: a new one is made where the last is old enough.
    mutating func refuseToken(at now: Instant) throws {
        guard try keeper?.refuse(at: now) == true, let token = keeper?.token else { return }
        use(token)
    }

    /// APNs counted too many tokens.
    mutating func keepToken(at now: Instant) { keeper?.keep(at: now) }

    private mutating func renewIfDue(at now: Instant) throws {
        guard let (token, isNew) = try keeper?.current(at: now), isNew || authorization == nil else { return }
        isNew ? use(token) : adopt(token)
    }

    private mutating func use(_ token: ProviderToken) {
        adopt(token)
        // A token that cannot be kept is still good: after a restart there will be one more.
        keepingFailure = tokenFile?.write(token)
    }

    private mutating func adopt(_ token: ProviderToken) {
        authorization = field("authorization", "bearer \(token.text)")
        whole = whole.map { _ in nil }
    }

    private mutating func field(_ name: String, _ value: String) -> SharedField {
        defer { nextID += 1 }
        return SharedField(id: nextID, name: name, value: value)
    }
}
