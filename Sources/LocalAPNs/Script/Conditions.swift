/// The requests that a rule applies to. A condition that is nil fits every request.
package struct Conditions: Sendable, Equatable {
    /// The device token, in lower case.
    package var token: Pattern?
    package var topic: Pattern?
    package var type: String?
    /// The number of the connection, counted from 1.
    package var connection: Int?
    /// At least this many answers on the connection had a status 4xx other than 410.
    package var errors: Int?
    /// Only the nth counted request. A request is counted if it fits ``token``, ``topic``, ``type``, ``connection`` and
    /// ``errors``, and exceeds ``above``.
    package var nth: Int?
    /// Only every nth counted request.
    package var every: Int?
    /// Only the first n counted requests.
    package var first: Int?
    /// Only the counted requests after the first n.
    package var beyond: Int?
    /// Only a random share of the counted requests, from 0 to 1. The same ``seed`` always selects the same requests.
    package var share: Double?
    package var seed: UInt64 = 1
    /// Only requests that exceed this rate. The rate is measured for each device token separately.
    package var above: Rate?

    package struct Rate: Sendable, Equatable {
        package var count: Int
        package var seconds: Int
    }

    /// Whether the request fits ``token``, ``topic``, ``type``, ``connection`` and ``errors``.
    func fit(_ facts: RequestFacts) -> Bool {
        token?.fits(facts.token) != false && topic?.fits(facts.topic) != false
            && (type == nil || type == facts.type) && (connection == nil || connection == facts.connection)
            && facts.errors >= errors ?? 0
    }

    /// - Parameter count: How many requests have been counted so far, including this one (see ``nth``).
    func selects(requestNumber count: Int) -> Bool {
        (nth == nil || nth == count) && count % (every ?? 1) == 0 && count <= first ?? .max && count > beyond ?? 0
            && isDrawn(count)
    }

    private func isDrawn(_ count: Int) -> Bool {
        guard let share else { return true }
        return Double(Conditions.mix(seed &+ UInt64(count)) >> 11) < share * 0x1p53
    }

    /// The finalizer of SplitMix64.
    private static func mix(_ number: UInt64) -> UInt64 {
        var value = number &* 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// The text that a value must equal. If the text ends with `*`, the value need only begin with the text before the `*`.
package struct Pattern: Sendable, Equatable {
    private let text: String
    private let isPrefix: Bool

    package init(_ text: String) {
        isPrefix = text.hasSuffix("*")
        self.text = isPrefix ? String(text.dropLast()) : text
    }

    func fits(_ value: String?) -> Bool {
        guard let value else { return false }
        return isPrefix ? value.hasPrefix(text) : value == text
    }
}

/// The facts about a request that a script can test.
package struct RequestFacts: Sendable {
    package var token: String?
    package var topic: String?
    package var type: String?
    package var connection: Int
    /// How many answers on the connection had a status 4xx other than 410.
    package var errors: Int
}
