/// Remembers at most ``countMax`` keys. The newest `countMax / 2` keys are always remembered.
package struct RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let countMax: Int
    private var newer: [Key: Value] = [:]
    private var older: [Key: Value] = [:]

    package init(countMax: Int) { self.countMax = countMax }

    /// - Returns: The former value of the key; nil if the key is new or was forgotten.
    package mutating func insert(_ value: Value, for key: Key) -> Value? {
        let known = newer[key] ?? older[key]
        newer[key] = value
        if newer.count >= countMax / 2 {
            older = newer
            newer = [:]
        }
        return known
    }
}
