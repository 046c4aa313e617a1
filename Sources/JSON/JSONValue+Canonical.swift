extension JSONValue {
    /// The canonical form, which is equal for equal values: members sorted by key, no white space, only necessary
    /// escapes, and one form of each number (`1.0` and `1e0` become `1`).
    ///
    /// There are two exceptions. From 2^53 on, a whole number that fits 64 signed bits has another form if it was
    /// written with a fraction or exponent: `10000000000000000` stays, and `1e16` becomes `1e+16`. A number that is too
    /// large for a double keeps its text.
    package var canonical: [UInt8] {
        var buffer = unsafe ByteBuffer(capacity: raw.count)
        writeCanonical(to: &buffer)
        return unsafe Array(buffer.bytes)
    }

    private func writeCanonical(to buffer: inout ByteBuffer) {
        switch kind {
        case .object: writeMembers(to: &buffer)
        case .array: buffer.list(elements) { $1.writeCanonical(to: &$0) }
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

    private func writeNumber(to buffer: inout ByteBuffer) {
        // From 2^53 on, not every whole number is a double.
        let whole = int64 ?? double.flatMap { $0.magnitude < 0x1p53 ? Int64(exactly: $0) : nil }
        if let whole { return buffer.appendJSON(whole) }
        if let double { buffer.appendJSON(double) } else { unsafe buffer.append(raw) }
    }
}
