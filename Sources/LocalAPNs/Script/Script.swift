/// Decides by rules how a request is answered. If several rules fit, each setting comes from the first of these rules
/// that has the setting. The answer and the ending count as one setting.
package struct Script: Sendable {
    package struct Rule: Sendable, Equatable {
        package var when: Conditions
        package var conduct: Conduct

        package init(when: Conditions = Conditions(), do conduct: Conduct) {
            self.when = when
            self.conduct = conduct
        }
    }

    package private(set) var rules: [Rule] = []
    private var counts: [Int] = []
    private var meters: [RateMeter] = []

    package init(_ rules: [Rule] = []) {
        self.rules = rules
        counts = Array(repeating: 0, count: rules.count)
        meters = Array(repeating: RateMeter(), count: rules.count)
    }

    /// What to do with the next request.
    ///
    /// - Parameter now: Milliseconds since 1970.
    package mutating func conduct(for facts: RequestFacts, at now: Int64) -> Conduct {
        var conduct = Conduct()
        for index in rules.indices where applies(index, facts, now) { conduct.fillMissing(from: rules[index].conduct) }
        return conduct
    }

    private mutating func applies(_ index: Int, _ facts: RequestFacts, _ now: Int64) -> Bool {
        let when = rules[index].when
        guard when.fit(facts) else { return false }
        if let rate = when.above, !meters[index].exceeds(rate, afterRequestTo: facts.token ?? "", at: now) {
            return false
        }
        counts[index] += 1
        return when.selects(requestNumber: counts[index])
    }
}

/// Counts the requests of each device token in windows of fixed length.
struct RateMeter: Sendable {
    private var counts: [String: Int] = [:]
    private var windowStart: Int64 = 0

    /// Counts a request to the device token.
    ///
    /// - Returns: Whether the token's requests exceed the rate.
    mutating func exceeds(_ rate: Conditions.Rate, afterRequestTo token: String, at now: Int64) -> Bool {
        let length = Int64(rate.seconds) * 1000
        if now - windowStart >= length || now < windowStart {
            windowStart = now
            counts.removeAll()
        }
        counts[token, default: 0] += 1
        return counts[token, default: 0] > rate.count
    }
}
