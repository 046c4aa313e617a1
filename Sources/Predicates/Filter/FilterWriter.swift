import JSON

extension RecordPredicate {
    /// The predicate as `filterBy` of CloudKit Web Services, in JSON; it reads back as the same predicate.
    ///
    /// nil for what `filterBy` cannot say: `FALSEPREDICATE`, and what only extended predicates have.
    public var filterBy: String? {
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
    /// - Returns: Whether there is a comparator that says it.
    fileprivate func write(into buffer: inout ByteBuffer) -> Bool {
        guard let name = FilterComparators.name(of: comparator, isNegated: isNegated), !mixesBytes else { return false }
        buffer.append("{\"comparator\":")
        buffer.appendJSON(name)
        switch subject {
        case .field(let name): buffer.appendMember(",\"fieldName\":", name)
        case .system(let field): buffer.appendMember(",\"systemFieldName\":", field.filterName)
        case .allText: break
        }
        buffer.append(",\"fieldValue\":{")
        writeFieldValue(into: &buffer)
        buffer.append("}")
        if case .circle(let circle)? = values.first {
            buffer.append(",\"distance\":")
            buffer.appendJSON(circle.radius)
        }
        buffer.append(foldsCase ? ",\"ignoresCase\":true}" : "}")
        return true
    }

    /// Bytes are told from strings by the type, and a list has one.
    private var mixesBytes: Bool {
        let types = Set(values.map(\.type))
        return types.count > 1 && types.contains("BYTES")
    }

    private func writeFieldValue(into buffer: inout ByteBuffer) {
        if comparator == .exists { return buffer.append("\"value\":null") }
        buffer.append("\"value\":")
        if comparator.isWordSearch {
            buffer.appendJSON(words)
        } else if comparator.takesList {
            for (index, value) in values.enumerated() {
                buffer.append(index == 0 ? "[" : ",")
                value.write(into: &buffer)
            }
            buffer.append(values.isEmpty ? "[]" : "]")
        } else {
            values[0].write(into: &buffer)
        }
        if let type { buffer.appendMember(",\"type\":", type) }
    }

    /// nil for a list of several types.
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
            buffer.append("{\"recordName\":")
            bytes.withUnsafeBytes { buffer.appendJSON(utf8: $0) }
            buffer.append(",\"action\":\"NONE\"}")
        case .now: LiteralReader.now.withUnsafeBytes { buffer.appendJSON(utf8: $0) }
        case .circle(let circle):
            buffer.append("{\"latitude\":")
            buffer.appendJSON(circle.latitude)
            buffer.append(",\"longitude\":")
            buffer.appendJSON(circle.longitude)
            buffer.append("}")
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func appendMember(_ key: StaticString, _ text: String) {
        append(key)
        appendJSON(text)
    }
}
