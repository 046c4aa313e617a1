import EventLog
import Foundation

/// The header fields that a pool's requests share: the token's, and those of each kind of push.
struct SharedFields {
    private let authority: SharedField
    private var keeper: TokenKeeper?
    private let tokenFile: TokenFile?
    private var authorization: SharedField?
    private var kinds: [APNsPush.Kind: Int] = [:]
    private var own: [[SharedField]] = []
    /// What ``current(_:at:)`` gives, as long as the token stays.
    private var whole: [[SharedField]?] = []
    private var nextID = 1
    private var checked = Instant.epoch

    init(_ plan: PoolPlan) {
        authority = SharedField(id: 0, name: ":authority", value: plan.authority)
        tokenFile = plan.tokenFile.map(TokenFile.init)
        keeper = plan.key.map { TokenKeeper($0, kept: tokenFile?.read(), refreshAge: plan.tokenAge) }
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
        try use(token)
    }

    private mutating func renewIfDue(at now: Instant) throws {
        guard let (token, isNew) = try keeper?.current(at: now), isNew || authorization == nil else { return }
        isNew ? try use(token) : adopt(token)
    }

    private mutating func use(_ token: ProviderToken) throws {
        adopt(token)
        try tokenFile?.write(token)
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

/// Where a token outlives the process that made it. Only its owner may read it.
struct TokenFile {
    let path: String

    init(_ path: String) { self.path = path }

    /// Nil where there is none that can be used.
    func read() -> ProviderToken? {
        guard let bytes = FileManager.default.contents(atPath: path) else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let seconds = Int64(words[0]), 0...253_402_300_799 ~= seconds else { return nil }
        return ProviderToken(text: String(words[1]), issued: Instant(microseconds: seconds * 1_000_000))
    }

    /// Writes `iat` and the token, in one step.
    func write(_ token: ProviderToken) throws {
        let text = "\(token.issued.microseconds / 1_000_000) \(token.text)\n"
        let temporary = path + ".new"
        let isMade = FileManager.default.createFile(
            atPath: temporary, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        guard isMade, rename(temporary, path) == 0 else { throw TokenFileError(path: path) }
    }
}

struct TokenFileError: Error, CustomStringConvertible {
    let path: String

    var description: String { "cannot write \(path)" }
}
