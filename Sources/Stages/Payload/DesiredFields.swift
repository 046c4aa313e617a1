import JSON

/// The field values that a query subscription wants in its payloads, under `af`.
struct DesiredFields {
    private struct Field {
        let part: PayloadParts
        let name: JSONValue
        let value: FieldValue
    }

    /// In alphabetical order.
    private var fields: [Field] = []
    private(set) var parts: PayloadParts = []

    /// Only created and updated records have values. A name that stands twice counts once; a field that the record
    /// lacks is left out.
    init(_ notification: Notification) {
        guard let names = notification.info.desiredKeys, notification.family == .query,
            notification.reason != .deleted
        else { return }
        for (name, part) in zip(names.elements, PayloadParts.fields) {
            guard let value = FieldValue(named: name, in: notification.fields), !contains(name) else { continue }
            insert(Field(part: part, name: name, value: value))
        }
    }

    func write(_ kept: PayloadParts, _ family: inout ObjectWriter, into buffer: inout ByteBuffer) {
        guard !kept.isDisjoint(with: parts) else { return }
        family.key("\"af\":", &buffer)
        var values = ObjectWriter(&buffer)
        for field in fields where kept.contains(field.part) {
            values.key(field.name, &buffer)
            field.value.write(into: &buffer)
        }
        values.close(&buffer)
    }

    private mutating func insert(_ field: Field) {
        let index = fields.firstIndex { field.name.raw.lexicographicallyPrecedes($0.name.raw) } ?? fields.count
        fields.insert(field, at: index)
        parts.formUnion(field.part)
    }

    private func contains(_ name: JSONValue) -> Bool {
        fields.contains { $0.name.exact == name.exact }
    }
}
