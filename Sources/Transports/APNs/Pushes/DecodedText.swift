import JSON

/// A JSON string in the line of a push, with its escapes decoded. Valid only while the line exists.
enum DecodedText {
    /// A part of the line itself, if the string has no escapes.
    case plain(UnsafeRawBufferPointer)
    case decoded([UInt8])

    /// Nil if the value is not a string.
    init?(_ value: JSONValue) {
        if let plain = value.plain {
            self = .plain(plain)
        } else if let bytes = value.withUTF8({ Array($0) }) {
            self = .decoded(bytes)
        } else {
            return nil
        }
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        switch self {
        case .plain(let bytes): try body(bytes)
        case .decoded(let bytes): try bytes.withUnsafeBytes(body)
        }
    }

    var bytes: [UInt8] { withBytes { Array($0) } }

    var string: String { withBytes { String(decoding: $0, as: UTF8.self) } }

    var isEmpty: Bool { withBytes { $0.isEmpty } }
}
