/// Makes random bytes, for secrets and IDs.
package typealias RandomBytes = (_ count: Int) -> [UInt8]

/// The random numbers of the system.
package enum SystemRandom {
    package static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in generator.next() }
    }
}

extension [UInt8] {
    /// Two digits for each byte, in lower case.
    var hexadecimal: String {
        let digits = [UInt8]("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Nil unless the text is hexadecimal digits in lower case, two for each byte.
    init?(hexadecimal text: String) {
        let digits = text.utf8.map { Character(UnicodeScalar($0)) }
        guard digits.count % 2 == 0, digits.allSatisfy({ $0.isHexDigit && !$0.isUppercase }) else { return nil }
        let values = digits.compactMap(\.hexDigitValue)
        self = stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }
}
