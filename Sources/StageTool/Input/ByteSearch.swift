import Glibc

/// Searches bytes for a text. The longer the text, the more bytes the search usually skips (Horspool 1980).
package struct ByteSearch: Sendable {
    private let text: [UInt8]
    /// How far the search can move on, for each value of the byte that was compared with the text's last byte.
    private let steps: [Int]

    package init(_ text: String) {
        self.text = Array(text.utf8)
        var steps = [Int](repeating: max(self.text.count, 1), count: 256)
        for (index, byte) in self.text.dropLast().enumerated() { steps[Int(byte)] = self.text.count - 1 - index }
        self.steps = steps
    }

    package func isFound(in bytes: UnsafeRawBufferPointer) -> Bool {
        guard let last = text.last, let base = bytes.baseAddress else { return text.isEmpty }
        return text.withUnsafeBytes { text in
            guard let wanted = text.baseAddress else { return true }
            return steps.withUnsafeBufferPointer { steps in
                var end = text.count - 1
                while end < bytes.count {
                    let byte = bytes[end]
                    if byte == last, memcmp(base + (end - text.count + 1), wanted, text.count) == 0 {
                        return true
                    }
                    end += steps[Int(byte)]
                }
                return false
            }
        }
    }
}
