/// The name of a stream. Requests have the name in their subject, so it must not contain characters that have a meaning
/// there, such as a dot.
package struct StreamName: Hashable, Sendable {
    package let text: String

    /// The longest name (nats-server, JSMaxNameLen).
    package static let bytesMax = 255

    /// - Throws: ``JetStreamError/invalidName(_:)`` unless the name has 1 to 255 characters of `A-Z a-z 0-9 _ -`.
    package init(_ text: String) throws(JetStreamError) {
        guard 1...StreamName.bytesMax ~= text.utf8.count, text.utf8.allSatisfy(StreamName.isAllowed) else {
            throw .invalidName(text)
        }
        self.text = text
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}

extension StreamName: CustomStringConvertible {
    package var description: String { text }
}
