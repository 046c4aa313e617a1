/// Which requests a rule is about. What is not said does not matter.
package struct Conditions: Sendable, Equatable {
    /// Of the device, in lower case.
    package var token: Pattern?
    package var topic: Pattern?
    package var type: String?
    /// Connections are counted from 1.
    package var connection: Int?
    /// The connection has had so many 4xx other than 410.
    package var errors: Int?
    /// Of the requests that fit so far: the nth, each nth, the first so many, those beyond so many.
    package var nth: Int?
    package var every: Int?
    package var first: Int?
    package var beyond: Int?
    /// A part of them, from 0 to 1, drawn by the seed.
    package var share: Double?
    package var seed: UInt64 = 1
    /// Those above a rate for each device token.
    package var above: Rate?

    package struct Rate: Sendable, Equatable {
        package var count: Int
        package var seconds: Int
    }

    func fit(_ facts: RequestFacts) -> Bool {
        token?.fits(facts.token) != false && topic?.fits(facts.topic) != false
            && (type == nil || type == facts.type) && (connection == nil || connection == facts.connection)
            && facts.errors >= errors ?? 0
    }

    /// - Parameter count: How many have fitted, this one included.
    func take(_ count: Int) -> Bool {
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

/// A text, or with a `*` at its end, how a text begins.
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

/// What a script looks at.
package struct RequestFacts: Sendable {
    package var token: String?
    package var topic: String?
    package var type: String?
    package var connection: Int
    /// Of the connection so far.
    package var errors: Int
}
