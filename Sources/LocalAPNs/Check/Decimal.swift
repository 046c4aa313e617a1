/// Reads the numbers in headers, which consist only of digits.
enum Decimal {
    static func value(of text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }
}
