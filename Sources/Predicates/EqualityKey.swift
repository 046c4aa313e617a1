import JSON

/// A hash by which an index finds the clauses that a field's value may satisfy.
///
/// A value and a field that are equal, also when only regardless of case, have the same key. Unequal ones may share one:
/// the clause has the last word. Keys differ from process to process.
package struct EqualityKey: Hashable, Sendable {
    package let hash: Int

    private init(hash: Int) { self.hash = hash }

    /// - Parameter field: What the index numbers the field by.
    package init(_ value: FieldValue, field: Int32) {
        switch value {
        case .text(let bytes), .bytes(let bytes): self = bytes.withUnsafeBytes { EqualityKey(text: $0, field) }
        case .integer(let number): self.init(integer: number, field)
        case .double(let number): self.init(double: number, field)
        case .reference(let bytes): self = bytes.withUnsafeBytes { EqualityKey(bytes: $0, field, tag: 3) }
        case .circle: self.init(hash: 0)
        }
    }

    /// Calls `body` with the key of a field's value, or of each element of a list.
    @inline(__always)
    package static func forEach(in view: FieldView, field: Int32, _ body: (EqualityKey) -> Void) {
        if case .list(let list) = view {
            for element in list.elements {
                if let key = EqualityKey(FieldView(scalar: element), field: field) { body(key) }
            }
        } else if let key = EqualityKey(view, field: field) {
            body(key)
        }
    }

    @inline(__always)
    private init?(_ view: FieldView, field: Int32) {
        switch view {
        case .text(let text):
            if let plain = text.plain {
                self.init(text: plain, field)
            } else {
                guard let key = text.withUTF8({ EqualityKey(text: $0, field) }) else { return nil }
                self = key
            }
        case .integer(let number): self.init(integer: number, field)
        case .double(let number): self.init(double: number, field)
        case .reference(let name):
            guard let key = name.withUTF8({ EqualityKey(bytes: $0, field, tag: 3) }) else { return nil }
            self = key
        case .list, .object, .nothing: return nil
        }
    }

    @inline(__always)
    private init(text: UnsafeRawBufferPointer, _ field: Int32) {
        self = Letters.withFolded(text) { EqualityKey(bytes: $0, field, tag: 0) }
    }

    @inline(__always)
    private init(bytes: UnsafeRawBufferPointer, _ field: Int32, tag: Int32) {
        hash = ByteHash.of(bytes, salt: EqualityKey.salt(field, tag))
    }

    @inline(__always)
    private init(integer: Int64, _ field: Int32) {
        hash = ByteHash.of(UInt64(bitPattern: integer), salt: EqualityKey.salt(field, 1))
    }

    /// A double that is a whole number equals it, so both have one key.
    private init(double: Double, _ field: Int32) {
        guard let integer = Int64(exactly: double) else {
            self.init(hash: ByteHash.of(double.bitPattern, salt: EqualityKey.salt(field, 2)))
            return
        }
        self.init(integer: integer, field)
    }

    private static func salt(_ field: Int32, _ tag: Int32) -> UInt64 {
        UInt64(UInt32(bitPattern: field)) << 32 | UInt64(UInt32(bitPattern: tag))
    }
}
