import Time

/// Limits failed attempts for each client and each key with token buckets. A failure takes a token from a bucket, and
/// the bucket gains one token in each interval until it is full.
///
/// While a client's bucket is empty, the client is refused before its credentials are checked. While a key's bucket is
/// empty, requests with this key are refused only if their clients have failed lately. If all requests with the key
/// were refused, an attacker with many addresses could lock the key's owner out.
struct FailureLimiter: Sendable {
    struct Limit: Sendable {
        /// How many failures are allowed at once.
        var burst: Int
        /// How long a bucket needs to gain one token.
        var interval: Duration
    }

    enum Subject: Hashable, Sendable {
        case client(String)
        case key(String)

        var limit: Limit { if case .client = self { FailureLimiter.clientLimit } else { FailureLimiter.keyLimit } }
    }

    static let clientLimit = Limit(burst: 20, interval: .seconds(6))
    static let keyLimit = Limit(burst: 200, interval: .milliseconds(600))

    /// When each bucket is full again. A subject without an entry has a full bucket.
    private var refills: [Subject: Instant] = [:]
    private let countMax: Int

    init(countMax: Int = 20_000) { self.countMax = countMax }

    var count: Int { refills.count }

    /// - Throws: `THROTTLED` if the client's bucket has no token.
    func admit(_ client: String, at now: Instant) throws(AccessError) {
        if let wait = wait(.client(client), at: now) {
            throw .throttled(wait, "too many failed attempts from this address")
        }
    }

    /// - Throws: `THROTTLED` if the key's bucket has no token and the client's bucket is not full.
    func admit(_ client: String, to keyID: String, at now: Instant) throws(AccessError) {
        guard let refill = refills[.client(client)], refill > now, let wait = wait(.key(keyID), at: now) else { return }
        throw .throttled(wait, "too many failed attempts with this key")
    }

    mutating func record(_ subject: Subject, at now: Instant) {
        if refills[subject] == nil, refills.count >= countMax { makeRoom(at: now) }
        refills[subject] = max(refill(subject, at: now), now).advanced(by: subject.limit.interval)
    }

    /// How long until the bucket has a token; nil if it has one now.
    private func wait(_ subject: Subject, at now: Instant) -> Duration? {
        let wait = refill(subject, at: now) - now - subject.limit.interval * (subject.limit.burst - 1)
        return wait > .zero ? wait : nil
    }

    /// When the subject's bucket is full again. After the clock was set back, the recorded time may be too far in the
    /// future. So the result is never later than the time at which a bucket that is empty now would be full.
    private func refill(_ subject: Subject, at now: Instant) -> Instant {
        let refill = refills[subject] ?? now
        return min(refill, now.advanced(by: subject.limit.interval * subject.limit.burst))
    }

    /// Drops full buckets. If too many buckets remain, drops the half that will be full first.
    private mutating func makeRoom(at now: Instant) {
        refills = refills.filter { $0.value > now }
        guard refills.count >= countMax else { return }
        let kept = refills.sorted { $0.value > $1.value }.prefix(countMax / 2)
        refills = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
}

extension AccessError {
    fileprivate static func throttled(_ wait: Duration, _ problem: String) -> AccessError {
        let (seconds, attoseconds) = wait.components
        return AccessError(.throttled, nil, problem, retryAfter: Int(seconds) + (attoseconds > 0 ? 1 : 0))
    }
}
