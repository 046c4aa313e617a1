import Foundation

extension String {
    /// Whether both are the same bytes: identifiers are not compared as Unicode text.
    func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension String? {
    func hasSameBytes(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.hasSameBytes(as: other)
    }
}

extension Hasher {
    mutating func combine(bytesOf text: String) {
        for byte in text.utf8 { combine(byte) }
        combine(0xFF as UInt8)
    }
}
