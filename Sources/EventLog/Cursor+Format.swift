extension Cursor {
    /// The bytes that ``BatchFormat`` describes. Entries are ordered by name, so that equal cursors have equal bytes.
    func encoded() throws(EventLogError) -> [UInt8] {
        if positions.isEmpty { return [] }
        var bytes: [UInt8] = []
        for (name, sequence) in positions.sorted(by: { $0.key < $1.key }) {
            let nameBytes = name.utf8.count
            try check("the cursor name '\(name.prefix(32))'", nameBytes, EventLogLimits.cursorNameBytesMax)
            bytes.put(UInt16(nameBytes))
            bytes.append(contentsOf: name.utf8)
            bytes.put(sequence)
        }
        try check("the cursor", bytes.count, EventLogLimits.cursorBytesMax)
        return bytes
    }

    /// Nil if the bytes are not a cursor.
    init?(encoded bytes: UnsafeRawBufferPointer) {
        var (positions, offset) = ([String: UInt64](), 0)
        while offset < bytes.count {
            guard offset + 2 <= bytes.count else { return nil }
            let end = unsafe offset + 2 + Int(bytes.word(offset, UInt16.self))
            guard end + 8 <= bytes.count, let name = unsafe String(validating: bytes[offset + 2..<end], as: UTF8.self)
            else { return nil }
            positions[name] = unsafe bytes.word(end, UInt64.self)
            offset = end + 8
        }
        self.positions = positions
    }

    private func check(_ what: String, _ bytes: Int, _ bytesMax: Int) throws(EventLogError) {
        guard bytes <= bytesMax else { throw .tooLarge(what, bytes: bytes, bytesMax: bytesMax) }
    }
}
