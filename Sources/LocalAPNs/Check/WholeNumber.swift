/// Reads numbers that are written with digits only.
enum WholeNumber {
    /// - Returns: Nil if the text is empty, has other characters, or is too large for 64 signed bits.
    static func value(of text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }
}
