/// A value that a clause compares a field with.
package enum FieldValue: Sendable, Hashable {
    /// A string, as UTF-8.
    case text([UInt8])
    case integer(Int64)
    case double(Double)
    /// The record name of a reference.
    case reference([UInt8])
    /// Bytes, as Base64 text (RFC 4648, section 4).
    case bytes([UInt8])
    /// The area that a location must be inside.
    indirect case circle(Circle)
    /// The value of `now()`: the recorded time of a change, or the time of a query. It is never part of a list.
    case now

    init(text: String) { self = .text(Array(text.utf8)) }

    var isText: Bool {
        if case .text = self { true } else { false }
    }

    var isBytes: Bool {
        if case .bytes = self { true } else { false }
    }

    var isNumber: Bool {
        switch self {
        case .integer, .double, .now: true
        default: false
        }
    }

    var caseFolded: FieldValue {
        guard case .text(let bytes) = self else { return self }
        return bytes.withUnsafeBytes { Letters.withFolded($0) { .text(Array($0)) } }
    }
}

/// Compares numbers exactly.
enum Numbers {
    @inline(__always)
    static func order(_ left: Int64, _ right: Int64) -> Int { left < right ? -1 : left > right ? 1 : 0 }

    @inline(__always)
    static func order(_ left: Double, _ right: Double) -> Int { left < right ? -1 : left > right ? 1 : 0 }

    /// Compares without rounding either number.
    static func order(_ left: Int64, _ right: Double) -> Int {
        // 2^63 is a double, and greater than every Int64.
        if right >= 0x1p63 { return -1 }
        if right < -0x1p63 { return 1 }
        let floor = right.rounded(.down)
        let order = order(left, Int64(floor))
        return order == 0 && floor < right ? -1 : order
    }
}

/// Folds case: replaces each Unicode scalar by its lower-case mapping.
package enum Letters {
    /// Calls `body` with the text in lower case. Makes an array only for non-ASCII text.
    @inline(__always)
    package static func withFolded<Result>(
        _ text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        var marks: UInt8 = 0
        for byte in text { marks |= byte & 0x80 | (byte &- UInt8(ascii: "A") < 26 ? 1 : 0) }
        if marks == 0 { return body(text) }
        if marks == 1 { return withFoldedASCII(text, body) }
        return folded(text).withUnsafeBytes { body($0) }
    }

    private static func withFoldedASCII<Result>(
        _ text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(byteCount: text.count, alignment: 1) { target in
            for index in 0..<text.count {
                let byte = text[index]
                target[index] = byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
            }
            return body(UnsafeRawBufferPointer(target))
        }
    }

    private static func folded(_ text: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            bytes.append(contentsOf: scalar.properties.lowercaseMapping.utf8)
        }
        return bytes
    }
}
