import Foundation
import JSON

/// The value of a placeholder in a predicate's text.
enum PredicateArgument: Hashable, Sendable {
    /// The JSON for a query's `arguments`.
    case json(String)
    /// A value that a query cannot contain, with the reason.
    case refused(String)

    /// The value as JSON. A refused value is written as null.
    var text: String {
        switch self {
        case .json(let text): text
        case .refused: "null"
        }
    }

    /// Writes a `Date`, a `Data` or an array of `Data` with its type, because without the type it would be read as a
    /// number, a string or strings.
    init(_ argument: Any) {
        let value = PredicateArgument(value: argument)
        switch (argument, value) {
        case (is Date, .json(let text)): self = .json("{\"value\":\(text),\"type\":\"TIMESTAMP\"}")
        case (is Data, .json(let text)): self = .json("{\"value\":\(text),\"type\":\"BYTES\"}")
        case (let list as [Data], .json(let text)) where !list.isEmpty:
            self = .json("{\"value\":\(text),\"type\":\"BYTES_LIST\"}")
        default: self = value
        }
    }

    /// Writes the value without a type, for an element of an array or the `value` of a record's field.
    init(value: Any) {
        switch value {
        case let text as String: self = .written { $0.appendJSON(text) }
        case is NSNull: self = .json("null")
        case let flag as Bool where type(of: value) == Bool.self: self = .json(flag ? "1" : "0")
        case let date as Date: self.init(number: (date.timeIntervalSince1970 * 1_000).rounded())
        case let data as Data: self = .json("\"\(data.base64EncodedString())\"")
        case let place as CLLocation: self = .written(place.write)
        case let reference as CKRecord.Reference: self = .written(reference.write)
        case let id as CKRecord.ID: self = .written(CKRecord.Reference(recordID: id, action: .none).write)
        case let list as [Any]: self.init(list: list)
        default: self.init(numeric: value)
        }
    }

    private init(numeric value: Any) {
        if let whole = value as? any BinaryInteger {
            self = Int64(exactly: whole).map { .json("\($0)") } ?? .tooLarge(whole)
        } else if let number = value as? NSNumber, !number.isFloatingPoint, !number.isNegative,
            number.uint64Value > Int64.max
        {
            self = .tooLarge(number.uint64Value)
        } else if let number = value as? NSNumber, !number.isFloatingPoint {
            self = .json("\(number.int64Value)")
        } else if let number = value as? NSNumber {
            self.init(number: number.doubleValue)
        } else if let number = value as? any BinaryFloatingPoint {
            self.init(number: Double(number))
        } else {
            self = .refused(
                "is of type \(type(of: value)): use a string, number, Date, Data, CLLocation, CKRecord.Reference, "
                    + "CKRecord.ID or an array of these")
        }
    }

    private init(number: Double) {
        if let whole = Int64(exactly: number) {
            self = .json("\(whole)")
        } else if number.isFinite {
            self = .written { $0.appendJSON(number) }
        } else {
            self = .refused("is \(number): use a finite number")
        }
    }

    private init(list: [Any]) {
        let elements = list.map { PredicateArgument(value: $0) }
        for case .refused(let reason) in elements {
            self = .refused("has an element that \(reason)")
            return
        }
        self = .json("[\(elements.map(\.text).joined(separator: ","))]")
    }

    private static func tooLarge(_ number: any BinaryInteger) -> PredicateArgument {
        .refused("is \(number): use a number that fits into Int64")
    }

    private static func written(_ write: (inout ByteBuffer) -> Void) -> PredicateArgument {
        var buffer = ByteBuffer()
        write(&buffer)
        return .json(buffer.text)
    }
}

extension NSNumber {
    fileprivate var isFloatingPoint: Bool {
        ["d", "f"].contains(Character(Unicode.Scalar(UInt8(bitPattern: objCType.pointee))))
    }

    fileprivate var isNegative: Bool { doubleValue < 0 }
}
