import CloudKitModel
import JSON
import Predicates

/// The bytes by which records are ordered. A value that comes earlier has a smaller key.
///
/// Values of different types come in the order of ``Kind``; a record without the field comes before all others. Numbers
/// are compared exactly, as predicates compare them. Strings, bytes and references are compared by their first
/// ``textBytesMax`` bytes. All locations, assets and lists have the same key. Records with equal keys come in the order
/// of their creation, or in the opposite order if the first sort key is descending.
enum OrderKey {
    enum Kind: UInt8 {
        case missing, number, text, bytes, reference, other
    }

    /// How many bytes of a value are compared: bytes of UTF-8 for text, of Base64 for bytes.
    static let textBytesMax = 256

    static let missing: [UInt8] = [Kind.missing.rawValue]
    private static let other: [UInt8] = [Kind.other.rawValue]

    /// - Parameter fields: Field dictionaries by name.
    static func of(_ subject: Clause.Subject, _ fields: JSONValue?, _ system: SystemValues) -> [UInt8] {
        switch subject {
        case .field(let name): fields?.member(name).map { of(field: $0) } ?? missing
        case .system(let field): of(field, system)
        case .allText: missing
        }
    }

    static func of(field: JSONValue) -> [UInt8] {
        let members = FieldMembers(of: field)
        return switch FieldView(value: members.value) {
        case .text(let text): of(text: text, isBytes: members.type?.isTypeOfBytes ?? false)
        case .integer(let number): of(number)
        case .double(let number): of(number)
        case .reference(let name): name.withUTF8 { of(.reference, $0) } ?? other
        case .list, .object: other
        case .nothing: missing
        }
    }

    private static func of(_ field: SystemField, _ system: SystemValues) -> [UInt8] {
        switch field {
        case .recordID: of(reference: system.name)
        case .creationDate: of(system.created.milliseconds)
        case .modificationDate: of(system.modified.milliseconds)
        case .creatorUserRecordID: system.created.user.map { of(reference: $0) } ?? missing
        case .lastModifiedUserRecordID: system.modified.user.map { of(reference: $0) } ?? missing
        case .recordChangeTag: of(Int64(system.sequence))
        }
    }

    // MARK: Kinds

    static func of(_ kind: Kind, _ text: UnsafeRawBufferPointer) -> [UInt8] {
        [kind.rawValue] + text.prefix(textBytesMax)
    }

    static func of(_ kind: Kind, _ text: [UInt8]) -> [UInt8] { [kind.rawValue] + text.prefix(textBytesMax) }

    private static func of(reference name: String) -> [UInt8] { of(.reference, Array(name.utf8)) }

    private static func of(text: JSONValue, isBytes: Bool) -> [UInt8] {
        guard isBytes else { return text.withUTF8 { of(.text, $0) } ?? missing }
        return text.withUTF8 { [Kind.bytes.rawValue] + $0.prefix(textBytesMax).map(base64Order) } ?? missing
    }

    /// The rank of a Base64 digit. With ranks in place of digits, Base64 sorts like the bytes that it encodes.
    private static func base64Order(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A") + 1
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 27
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 53
        case UInt8(ascii: "+"): 63
        case UInt8(ascii: "/"): 64
        default: 0
        }
    }

    // MARK: Numbers

    /// The key consists of the nearest double and the number's distance from this double, which is at most 512.
    static func of(_ number: Int64) -> [UInt8] {
        let nearest = Double(number)
        let rest = Int64(exactly: nearest).map { number - $0 } ?? number - Int64.max - 1
        return bytes(nearest, rest: Int16(rest))
    }

    static func of(_ number: Double) -> [UInt8] { bytes(number, rest: 0) }

    private static func bytes(_ number: Double, rest: Int16) -> [UInt8] {
        // -0.0 equals 0.
        let bits = (number == 0 ? 0 : number).bitPattern
        let ordered = bits >> 63 == 1 ? ~bits : bits | 1 << 63
        var key = [Kind.number.rawValue]
        key.reserveCapacity(11)
        for shift in stride(from: 56, through: 0, by: -8) { key.append(UInt8(truncatingIfNeeded: ordered >> shift)) }
        let orderedRest = UInt16(bitPattern: rest) ^ 0x8000
        key.append(UInt8(orderedRest >> 8))
        key.append(UInt8(truncatingIfNeeded: orderedRest))
        return key
    }
}
