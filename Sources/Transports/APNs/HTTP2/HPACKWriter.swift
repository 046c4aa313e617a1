/// Writes header fields in HPACK's form, without Huffman codes (RFC 7541, section 6).
enum HPACK {
    /// `:method POST`, `:scheme https`: entries of the static table (RFC 7541, appendix A).
    static let methodPOST: UInt8 = 0x83
    static let schemeHTTPS: UInt8 = 0x87

    /// Appends an integer (section 5.1). The integer begins in the lowest `prefix` bits of a byte; the other bits of
    /// this byte are those of `pattern`.
    static func append(_ value: Int, prefix: Int, pattern: UInt8, to bytes: inout [UInt8]) {
        let most = 1 << prefix - 1
        guard value >= most else { return bytes.append(pattern | UInt8(value)) }
        bytes.append(pattern | UInt8(most))
        var rest = value - most
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Appends a string literal (section 5.2).
    static func append(text: some Collection<UInt8>, to bytes: inout [UInt8]) {
        append(text.count, prefix: 7, pattern: 0, to: &bytes)
        bytes.append(contentsOf: text)
    }

    /// Appends a field that changes with every request: a literal that is not added to the dynamic table (section
    /// 6.2.2).
    static func append(_ name: StaticString, _ value: some Collection<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(0x00)
        name.withUTF8Buffer { append(text: $0, to: &bytes) }
        append(text: value, to: &bytes)
    }

    /// Appends a field `:path`, whose name is entry 4 of the static table. The field is not added to the dynamic table.
    static func append(path: some Collection<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(0x04)
        append(text: path, to: &bytes)
    }
}

/// A field that many requests share, so it is worth an entry in the dynamic table.
struct SharedField: Hashable, Sendable {
    /// Identifies the field, so that names and values need not be compared.
    let id: Int
    let name: String
    let value: String

    /// The size of the field's entry in a dynamic table (RFC 7541, section 4.1).
    var tableSize: Int { name.utf8.count + value.utf8.count + 32 }
}

/// The encoder's copy of the server's dynamic table (RFC 7541, section 2.3.2).
struct HPACKTable {
    /// The largest table that the encoder uses, even if the server allows more.
    static let sizeMax = 4_096
    private static let staticCount = 61

    private struct Entry {
        let field: Int
        let size: Int
    }

    /// The fields in the table, newest first.
    private var entries: [Entry] = []
    private var size = 0
    private var limit = HPACKTable.sizeMax
    /// Changed table sizes that the next header block must begin with (section 4.2).
    private var announcements: [Int] = []

    /// Applies the server's `SETTINGS_HEADER_TABLE_SIZE`.
    mutating func allow(_ bytes: Int) {
        let new = min(bytes, Self.sizeMax)
        guard new != limit else { return }
        limit = new
        announcements = announcements.filter { $0 < new } + [new]
        shrink(to: limit)
    }

    /// Writes the changed table sizes. Call this at the beginning of each header block.
    mutating func writeAnnouncements(to bytes: inout [UInt8]) {
        guard !announcements.isEmpty else { return }
        for size in announcements { HPACK.append(size, prefix: 5, pattern: 0x20, to: &bytes) }
        announcements = []
    }

    /// Appends the field's index if the field is in the table. Otherwise appends a literal, and adds it to the table if
    /// it fits.
    mutating func write(_ field: SharedField, to bytes: inout [UInt8]) {
        if let index = entries.firstIndex(where: { $0.field == field.id }) {
            return HPACK.append(Self.staticCount + 1 + index, prefix: 7, pattern: 0x80, to: &bytes)
        }
        let isKept = field.tableSize <= limit
        bytes.append(isKept ? 0x40 : 0x00)
        HPACK.append(text: field.name.utf8, to: &bytes)
        HPACK.append(text: field.value.utf8, to: &bytes)
        if isKept { insert(field) }
    }

    private mutating func insert(_ field: SharedField) {
        shrink(to: limit - field.tableSize)
        entries.insert(Entry(field: field.id, size: field.tableSize), at: 0)
        size += field.tableSize
    }

    private mutating func shrink(to bytes: Int) {
        while size > bytes, let oldest = entries.popLast() { size -= oldest.size }
    }
}
