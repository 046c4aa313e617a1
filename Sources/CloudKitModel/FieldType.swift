import JSON

/// The type of a record's field, as CloudKit Web Services names it.
package struct FieldType: Sendable, Hashable {
    package enum Base: Sendable, Hashable {
        case string, int64, double, bytes, timestamp, location, reference, asset
        /// CloudKit's name for the element type of an empty list.
        case unknown
    }

    package let base: Base
    package let isList: Bool

    private static let suffix: StaticString = "_LIST"
    private static let words: [(word: StaticString, base: Base)] = [
        ("STRING", .string), ("INT64", .int64), ("TIMESTAMP", .timestamp), ("DOUBLE", .double),
        ("REFERENCE", .reference), ("LOCATION", .location), ("BYTES", .bytes), ("ASSETID", .asset), ("ASSET", .asset),
        ("NUMBER_INT64", .int64), ("ENCRYPTED_BYTES", .bytes),
    ]

    /// - Throws: `member.kind` or `word.unknown`.
    @inline(__always)
    package init(_ json: JSONValue) throws(ModelError) {
        guard let type = json.withText(FieldType.parse), let type else {
            throw ModelError.unknownWord(json, FieldType.allWords, "a field's type")
        }
        self = type
    }

    private init(base: Base, isList: Bool) {
        self.base = base
        self.isList = isList
    }

    @inline(__always)
    private static func parse(_ text: UnsafeRawBufferPointer) -> FieldType? {
        if let base = base(text) { return FieldType(base: base, isList: false) }
        let length = text.count - suffix.utf8CodeUnitCount
        guard length > 0, bytes(of: suffix).isSame(as: UnsafeRawBufferPointer(rebasing: text[length...])) else {
            return nil
        }
        let element = UnsafeRawBufferPointer(rebasing: text[..<length])
        if element.isSame(as: bytes(of: "UNKNOWN")) { return FieldType(base: .unknown, isList: true) }
        return base(element).map { FieldType(base: $0, isList: true) }
    }

    @inline(__always)
    private static func base(_ text: UnsafeRawBufferPointer) -> Base? {
        for (word, base) in words where text.isSame(as: bytes(of: word)) { return base }
        return nil
    }

    @inline(__always)
    private static func bytes(of word: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    }

    private static let allWords: [StaticString] = [
        "STRING", "INT64", "NUMBER_INT64", "DOUBLE", "BYTES", "ENCRYPTED_BYTES", "TIMESTAMP", "LOCATION", "REFERENCE",
        "ASSETID", "ASSET", "STRING_LIST", "INT64_LIST", "NUMBER_INT64_LIST", "DOUBLE_LIST", "BYTES_LIST",
        "ENCRYPTED_BYTES_LIST", "TIMESTAMP_LIST", "LOCATION_LIST", "REFERENCE_LIST", "ASSETID_LIST", "ASSET_LIST",
        "UNKNOWN_LIST",
    ]
}
