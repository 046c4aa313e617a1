import Foundation

/// The Base64 of RFC 7515, section 2: URL-safe digits, no padding.
package enum Base64URL {
    package static func text(of bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// - Parameter leniently: Whether to accept the standard digits `+` and `/` and padding, too (RFC 4648, section 4).
    /// - Returns: Nil if the text has another character or an impossible length.
    package static func bytes(of text: Substring, leniently: Bool = false) -> [UInt8]? {
        guard leniently || !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let digits = String(text.reversed().drop { $0 == "=" }.reversed())
        let padding = String(repeating: "=", count: (4 - digits.utf8.count % 4) % 4)
        let standard = digits.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: standard + padding).map { Array($0) }
    }
}
