import Foundation

extension String {
    /// Whether both strings have the same bytes. Identifiers are compared in this way, not as Unicode text.
    func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// A hash that is equal for two strings with the same bytes.
    var byteHash: Int { Array(utf8).hashValue }
}

extension String? {
    func hasSameBytes(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.hasSameBytes(as: other)
    }
}
