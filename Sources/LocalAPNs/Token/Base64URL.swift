/// The base64 of RFC 7515 §2: URL-safe letters, no padding.
package enum Base64URL {
    /// - Parameter leniently: Takes the standard letters and padding, too.
    /// - Returns: nil for any other letter, and for a length that no bytes have.
    package static func bytes(of text: some StringProtocol, leniently: Bool = false) -> [UInt8]? {
        var letters = Array(text.utf8)
        if leniently { while letters.last == UInt8(ascii: "=") { letters.removeLast() } }
        guard letters.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        for (index, letter) in letters.enumerated() {
            guard let value = value(of: letter, leniently) else { return nil }
            bits = bits << 6 | value
            if index % 4 != 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(6 - 2 * (index % 4)))) }
        }
        return bytes
    }

    package static func text(of bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var held: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            held += 8
            while held >= 6 {
                held -= 6
                text.append(letters[Int(bits >> held & 63)])
            }
        }
        if held > 0 { text.append(letters[Int(bits << (6 - held) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func value(of letter: UInt8, _ leniently: Bool) -> UInt32? {
        switch letter {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(letter - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(letter - UInt8(ascii: "a") + 26)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(letter - UInt8(ascii: "0") + 52)
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        case UInt8(ascii: "+") where leniently: 62
        case UInt8(ascii: "/") where leniently: 63
        default: nil
        }
    }
}
