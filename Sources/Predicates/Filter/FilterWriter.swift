import JSON

extension RecordPredicate {
    /// The predicate as JSON for `filterBy` of CloudKit Web Services. It reads back as the same predicate.
    ///
    /// Nil if `filterBy` cannot express the predicate: if it is `FALSEPREDICATE`, if it has an `OR`, if it has `ALL`
    /// before a field, or if one list has bytes and also values of another type.
    package var filterBy: String? {
        guard !isNever, alternatives.isEmpty else { return nil }
        var buffer = ByteBuffer()
        buffer.append("[")
        for (index, clause) in clauses.enumerated() {
            if index > 0 { buffer.append(",") }
            guard clause.write(into: &buffer) else { return nil }
        }
        buffer.append("]")
        return buffer.text
    }
}

extension Clause {
    /// - Returns: Whether `filterBy` can express the clause.
    fileprivate func write(into buffer: inout ByteBuffer) -> Bool {
        guard let name = FilterComparators.name(of: comparator, isNegated: isNegated), !mixesBytes else { return false }
        buffer.append("{")
        buffer.append("comparator", name)
        switch subject {
        case .field(let name): buffer.append("fieldName", name)
        case .system(let field): buffer.append("systemFieldName", field.filterName)
        case .allText: break
        }
        buffer.append(member: "fieldValue")
        buffer.object { writeFieldValue(into: &$0) }
        if case .circle(let circle)? = values.first {
            buffer.append("distance", circle.radius)
        }
        if foldsCase { buffer.append("ignoresCase", true) }
        buffer.append("}")
        return true
    }

    /// Whether a list has bytes and other values. `filterBy` cannot express such a list: only the type `BYTES_LIST`
    /// distinguishes bytes from strings, and it would apply to all values.
    private var mixesBytes: Bool {
        let types = Set(values.map(\.type))
        return types.count > 1 && types.contains("BYTES")
    }

    private func writeFieldValue(into buffer: inout ByteBuffer) {
        if comparator == .exists { return buffer.append("\"value\":null") }
        buffer.append(member: "value")
        if comparator.isWordSearch {
            buffer.appendJSON(words)
        } else if comparator.takesList {
            buffer.list(values) { $1.write(into: &$0) }
        } else {
            values[0].write(into: &buffer)
        }
        buffer.append("type", type)
    }

    /// Nil for an empty list and for a list with several types.
    private var type: String? {
        if comparator.isWordSearch { return "STRING" }
        let types = Set(values.map(\.type))
        guard types.count == 1, let type = types.first else { return nil }
        if case .system(let field) = subject, field.isDate {
            return comparator.takesList ? "TIMESTAMP_LIST" : "TIMESTAMP"
        }
        return comparator.takesList ? type + "_LIST" : type
    }
}

extension FieldValue {
    fileprivate var type: String {
        switch self {
        case .text: "STRING"
        case .integer: "INT64"
        case .double: "DOUBLE"
        case .reference: "REFERENCE"
        case .bytes: "BYTES"
        case .circle: "LOCATION"
        case .now: "TIMESTAMP"
        }
    }

    fileprivate func write(into buffer: inout ByteBuffer) {
        switch self {
        case .text(let bytes), .bytes(let bytes): bytes.withUnsafeBytes { buffer.appendJSON(utf8: $0) }
        case .integer(let number): buffer.appendJSON(number)
        case .double(let number): buffer.appendJSON(number)
        case .reference(let bytes):
            buffer.object {
                $0.append("recordName", utf8: bytes[...])
                $0.append("action", word: "NONE")
            }
        case .now: LiteralReader.now.withUnsafeBytes { buffer.appendJSON(utf8: $0) }
        case .circle(let circle):
            buffer.object {
                $0.append("latitude", circle.latitude)
                $0.append("longitude", circle.longitude)
            }
        }
    }
}
