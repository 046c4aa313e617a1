import CloudKitModel
import Glibc
import JSON

/// A record's field, decoded once for many comparisons.
///
/// Valid while its JSON is valid.
package enum FieldView {
    /// A JSON string.
    case text(JSONValue)
    case integer(Int64)
    case double(Double)
    /// A reference. The JSON string is the name of the referenced record.
    case reference(JSONValue)
    /// A JSON array.
    case list(JSONValue)
    /// A location, an asset, or another JSON object that is not a reference.
    case object(JSONValue)
    /// The field is missing, or CloudKit has no type for its value.
    case nothing

    /// - Parameter field: A field dictionary, `{"value":…,"type":…}`.
    @inline(__always)
    package init(field: JSONValue?) { self.init(value: field?["value"]) }

    /// - Parameter value: A field dictionary's `value`.
    @inline(__always)
    package init(value: JSONValue?) {
        guard let value else {
            self = .nothing
            return
        }
        self = value.isArray ? .list(value) : FieldView(scalar: value)
    }

    /// - Parameter value: A value that is not a list, or an element of a list.
    @inline(__always)
    package init(scalar value: JSONValue) {
        switch value.kind {
        case .string: self = .text(value)
        case .number: self = FieldView(number: value)
        case .object:
            if let name = value["recordName"], name.isString { self = .reference(name) } else { self = .object(value) }
        default: self = .nothing
        }
    }

    @inline(__always)
    private init(number value: JSONValue) {
        if let integer = value.int64 {
            self = .integer(integer)
        } else if let double = value.double {
            self = .double(double)
        } else {
            self = .nothing
        }
    }

    /// Whether the field is a string, a number or a reference, which ``order(_:_:)`` can compare.
    @inline(__always)
    var isComparable: Bool {
        switch self {
        case .list, .object, .nothing: false
        default: true
        }
    }

    var isNothing: Bool {
        if case .nothing = self { true } else { false }
    }
}

/// The members of a field dictionary, found in one pass.
package struct FieldMembers {
    package private(set) var value: JSONValue?
    package private(set) var type: JSONValue?

    @inline(__always)
    package init(of field: JSONValue) {
        for (key, member) in field.members {
            if value == nil, key.equals("value") {
                value = member
            } else if type == nil, key.equals("type") {
                type = member
            }
        }
    }
}

extension JSONValue {
    /// Whether this is the type of a field with bytes, or with a list of them.
    @inline(__always)
    package var isTypeOfBytes: Bool {
        equals("BYTES") || equals("ENCRYPTED_BYTES") || equals("BYTES_LIST") || equals("ENCRYPTED_BYTES_LIST")
    }
}

// MARK: - Comparing

extension FieldView {
    /// Negative, zero or positive if the field is less than, equal to or greater than the value; nil if the field and
    /// the value cannot be compared.
    @inline(__always)
    func order(_ value: FieldValue, _ foldsCase: Bool) -> Int? {
        switch (self, value) {
        case (.text(let text), .text(let bytes)):
            foldsCase ? FieldView.foldedOrder(text, bytes) : FieldView.order(text, bytes)
        case (.integer(let left), .integer(let right)): Numbers.order(left, right)
        case (.double(let left), .double(let right)): Numbers.order(left, right)
        case (.integer(let left), .double(let right)): Numbers.order(left, right)
        case (.double(let left), .integer(let right)): -Numbers.order(right, left)
        case (.reference(let name), .reference(let bytes)): FieldView.order(name, bytes)
        case (.text(let text), .bytes(let bytes)): text.withUTF8 { Base64.order($0, bytes) }
        default: nil
        }
    }

    /// Whether the field begins with the bytes of the value. Nil unless the field and the value are strings.
    @inline(__always)
    func begins(with value: FieldValue) -> Bool? {
        guard case .text(let text) = self, case .text(let prefix) = value else { return nil }
        return text.withUTF8 { text in
            text.count >= prefix.count
                && prefix.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: text[..<prefix.count]).isSame(as: $0) }
        }
    }

    /// The coordinates of the location; nil if the field is not a location.
    package var coordinate: Coordinate? {
        guard case .object(let object) = self else { return nil }
        return Coordinate(object)
    }

    /// Whether the location is inside the circle. Nil unless the field is a location and the value is a circle.
    func isInside(_ value: FieldValue) -> Bool? {
        guard case .circle(let circle) = value, let coordinate else { return nil }
        return circle.contains(latitude: coordinate.latitude, longitude: coordinate.longitude)
    }

    /// Whether a test holds for at least one element; false for an empty list. Nil if the field is not a list, or if
    /// the test returns nil for every element.
    func anyElement(_ test: (FieldView) -> Bool?) -> Bool? {
        guard case .list(let list) = self else { return nil }
        var result = list.count == 0 ? false : nil as Bool?
        for element in list.elements {
            guard let outcome = test(FieldView(scalar: element)) else { continue }
            if outcome { return true }
            result = false
        }
        return result
    }

    @inline(__always)
    private static func order(_ text: JSONValue, _ bytes: [UInt8]) -> Int? {
        text.withUTF8 { text in bytes.withUnsafeBytes { order(text, $0) } }
    }

    private static func foldedOrder(_ text: JSONValue, _ bytes: [UInt8]) -> Int? {
        text.withUTF8 { text in
            Letters.withFolded(text) { folded in bytes.withUnsafeBytes { order(folded, $0) } }
        }
    }

    @inline(__always)
    static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let shared = min(left.count, right.count)
        if shared > 0, let one = left.baseAddress, let other = right.baseAddress {
            let order = memcmp(one, other, shared)
            if order != 0 { return Int(order) }
        }
        return left.count - right.count
    }
}
