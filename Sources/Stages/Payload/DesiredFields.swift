import JSON

/// The field values that a query subscription adds to its payloads under `af`.
struct DesiredFields {
    fileprivate struct Field {
        let part: PayloadParts
        let name: JSONValue
        let value: FieldValue
    }

    /// The fields, sorted by the bytes of their names. At most three fields are possible, and a tuple needs no memory
    /// allocation.
    private var fields: (first: Field?, second: Field?, third: Field?)
    private(set) var parts: PayloadParts = []
    /// Whether the record has a desired value that payloads cannot contain, such as bytes or a list.
    private(set) var isIncomplete = false

    /// Collects the values of a created or updated record for a query subscription. All other pushes have no desired
    /// fields. Only the first three names of the list count. A field that is listed twice is written once, and fields
    /// that the record lacks are left out.
    init(_ notification: Notification) {
        guard let names = notification.info.desiredKeys, notification.subscriptionType == .query,
            notification.reason != .deleted
        else { return }
        for (name, part) in zip(names.elements, PayloadParts.fields) {
            if let value = FieldValue(named: name, in: notification.fields) {
                if !contains(name) { insert(Field(part: part, name: name, value: value)) }
            } else if FieldValue.exists(name, in: notification.fields) {
                isIncomplete = true
            }
        }
    }

    func write(_ kept: PayloadParts, into buffer: inout ByteBuffer) {
        guard !kept.isDisjoint(with: parts) else { return }
        buffer.append(member: "af")
        buffer.append(byte: UInt8(ascii: "{"))
        write(fields.first, kept, into: &buffer)
        write(fields.second, kept, into: &buffer)
        write(fields.third, kept, into: &buffer)
        buffer.append(byte: UInt8(ascii: "}"))
    }

    private func write(
        _ field: Field?, _ kept: PayloadParts, into buffer: inout ByteBuffer
    ) {
        guard let field, kept.contains(field.part) else { return }
        buffer.append(key: field.name)
        field.value.write(into: &buffer)
    }

    private mutating func insert(_ field: Field) {
        parts.formUnion(field.part)
        if fields.first.map({ field.isBefore($0) }) ?? true {
            fields = (field, fields.first, fields.second)
        } else if fields.second.map({ field.isBefore($0) }) ?? true {
            fields = (fields.first, field, fields.second)
        } else {
            fields.third = field
        }
    }

    private func contains(_ name: JSONValue) -> Bool {
        fields.first?.name.hasSameText(as: name) ?? false || fields.second?.name.hasSameText(as: name) ?? false
    }
}

extension DesiredFields.Field {
    fileprivate func isBefore(_ other: Self) -> Bool { name.raw.lexicographicallyPrecedes(other.name.raw) }
}
