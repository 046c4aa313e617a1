/// Converts a UUID from two 64-bit words to text, and back. The text has 36 ASCII bytes: lower-case hexadecimal digits,
/// grouped 8-4-4-4-12 (RFC 9562, section 4).
struct UUIDText {
    static let byteCount = 36

    var high: UInt64
    var low: UInt64

    func write(into target: UnsafeMutableRawPointer) {
        store(UInt32(truncatingIfNeeded: high >> 32), target, leftAt: 0, rightAt: 4)
        store(UInt32(truncatingIfNeeded: high), target, leftAt: 9, rightAt: 14)
        store(UInt32(truncatingIfNeeded: low >> 32), target, leftAt: 19, rightAt: 24)
        store(UInt32(truncatingIfNeeded: low), target, leftAt: 28, rightAt: 32)
        for dash in stride(from: 8, through: 23, by: 5) {
            target.storeBytes(of: UInt8(ascii: "-"), toByteOffset: dash, as: UInt8.self)
        }
    }

    var string: String {
        String(unsafeUninitializedCapacity: UUIDText.byteCount) {
            write(into: $0.baseAddress!)
            return UUIDText.byteCount
        }
    }

    private func store(_ word: UInt32, _ target: UnsafeMutableRawPointer, leftAt: Int, rightAt: Int) {
        let digits = UUIDText.hexadecimal(word)
        target.storeBytes(of: UInt32(truncatingIfNeeded: digits), toByteOffset: leftAt, as: UInt32.self)
        target.storeBytes(of: UInt32(truncatingIfNeeded: digits >> 32), toByteOffset: rightAt, as: UInt32.self)
    }

    /// Makes eight digits at once. The first digit is in the lowest byte.
    private static func hexadecimal(_ word: UInt32) -> UInt64 {
        var spread = UInt64(word.byteSwapped)
        spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
        spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
        spread = (spread >> 4 | spread << 8) & 0x0F0F_0F0F_0F0F_0F0F
        let letters = (spread &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (spread &+ 0x3030_3030_3030_3030 &+ letters &* 39).littleEndian
    }
}

extension UUIDText {
    /// Accepts digits in upper or lower case. Nil if the string does not have the form 8-4-4-4-12.
    init?(_ text: String) {
        var digits: [UInt64] = []
        guard text.utf8.count == UUIDText.byteCount else { return nil }
        for (index, byte) in text.utf8.enumerated() {
            if [8, 13, 18, 23].contains(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let digit = UUIDText.value(of: byte) else { return nil }
                digits.append(digit)
            }
        }
        high = digits[..<16].reduce(0) { $0 << 4 | $1 }
        low = digits[16...].reduce(0) { $0 << 4 | $1 }
    }

    private static func value(of byte: UInt8) -> UInt64? {
        switch byte {
        case 0x30...0x39: UInt64(byte - 0x30)
        case 0x41...0x46: UInt64(byte - 0x41 + 10)
        case 0x61...0x66: UInt64(byte - 0x61 + 10)
        default: nil
        }
    }

    /// Sets the version and variant bits of RFC 9562, section 4.
    func marked(version: UInt64) -> UUIDText {
        UUIDText(high: high & ~0xF000 | version << 12, low: low & ~(0b11 << 62) | 0b10 << 62)
    }
}
