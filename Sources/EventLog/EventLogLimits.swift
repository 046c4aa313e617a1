/// The limits of a log. The lengths in a header that is read from the disk are checked against these limits.
package enum EventLogLimits {
    /// The maximum size of one event with its line feed.
    package static let eventBytesMax = 2 << 20
    /// The maximum size of the events of one batch.
    package static let batchBytesMax = 64 << 20
    /// The maximum size of an encoded cursor. Each entry needs ten bytes and its name in UTF-8.
    package static let cursorBytesMax = 1 << 20
    /// The maximum length of the name of a cursor entry, in bytes of UTF-8.
    package static let cursorNameBytesMax = 255
    /// The maximum length of a log's name.
    package static let nameBytesMax = 64

    /// Whether a log may have this name, which is also its folder's name.
    package static func isValid(name: String) -> Bool {
        (1...nameBytesMax).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy(isNameByte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
