extension JSONValue {
    /// What all texts that say the same have in common, however they are written: members in the order of their keys,
    /// no blanks, escapes where there must be, numbers in their shortest form.
    package var canonical: [UInt8] {
        var buffer = unsafe ByteBuffer(capacity: raw.count)
        writeCanonical(to: &buffer)
        return unsafe Array(buffer.bytes)
    }

    private func writeCanonical(to buffer: inout ByteBuffer) {
        switch kind {
        case .object: writeMembers(to: &buffer)
        case .array: writeElements(to: &buffer)
        case .string: _ = unsafe withUTF8 { unsafe buffer.appendJSON(utf8: $0) }
        case .number: writeNumber(to: &buffer)
        case .null, .true, .false: unsafe buffer.append(raw)
        }
    }

    private func writeMembers(to buffer: inout ByteBuffer) {
        let sorted = members.map { (key: $0.key.exact ?? "", value: $0.value) }.sorted { $0.key < $1.key }
        buffer.object {
            for member in sorted {
                $0.append(key: member.key.string)
                member.value.writeCanonical(to: &$0)
            }
        }
    }

    private func writeElements(to buffer: inout ByteBuffer) { buffer.list(elements) { $1.writeCanonical(to: &$0) } }

    private func writeNumber(to buffer: inout ByteBuffer) {
        if let whole = int64 ?? double.flatMap(JSONValue.whole) { return buffer.appendJSON(whole) }
        if let double { buffer.appendJSON(double) } else { unsafe buffer.append(raw) }
    }

    /// Nil where the number has a fraction, or neighbours that are no doubles.
    private static func whole(_ double: Double) -> Int64? {
        double.magnitude < 0x1p53 ? Int64(exactly: double) : nil
    }
}
