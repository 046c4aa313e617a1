/// Percent-encoding (RFC 3986, section 2.1).
enum PercentText {
    /// The decoded text; nil if an escape is not two hexadecimal digits, or the result is not UTF-8.
    ///
    /// A plus sign stays a plus sign, because Base64 contains plus signs. A space is written as `%20`.
    static func decoded(_ text: Substring) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var (bytes, rest) = ([UInt8](), text.utf8[...])
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}
