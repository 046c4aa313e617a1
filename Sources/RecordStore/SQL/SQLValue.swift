import GRDB
import GRDBSQLite
import JSON

/// The value of a parameter in a statement.
enum SQLValue {
    case null
    case int(Int64)
    case text(String)
    /// The bytes of a text, in UTF-8.
    case utf8(UnsafeRawBufferPointer)
    /// The decoded text of a JSON string; null for any other value.
    case json(JSONValue?)
    case blob([UInt8])

    static func text(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }

    /// The sequences of a log always fit an `Int64`. A client may send a larger number. It becomes `Int64.max`, which
    /// no sequence exceeds.
    static func sequence(_ sequence: UInt64) -> SQLValue { .int(Int64(clamping: sequence)) }
}

/// Makes SQLite copy a bound value.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension SQLValue {
    /// - Returns: SQLite's result code.
    func bind(to statement: SQLiteStatement, at index: CInt) -> CInt {
        switch self {
        case .null: sqlite3_bind_null(statement, index)
        case .int(let number): sqlite3_bind_int64(statement, index, number)
        case .text(var text): text.withUTF8 { SQLValue.bind(UnsafeRawBufferPointer($0), to: statement, at: index) }
        case .utf8(let text): SQLValue.bind(text, to: statement, at: index)
        case .json(let value):
            value?.withUTF8 { SQLValue.bind($0, to: statement, at: index) } ?? sqlite3_bind_null(statement, index)
        case .blob(let bytes): SQLValue.bind(blob: bytes, to: statement, at: index)
        }
    }

    private static func bind(
        _ text: UnsafeRawBufferPointer, to statement: SQLiteStatement, at index: CInt
    ) -> CInt {
        guard let start = text.baseAddress, text.count > 0 else {
            return sqlite3_bind_text(statement, index, "", 0, copied)
        }
        return sqlite3_bind_text(
            statement, index, start.assumingMemoryBound(to: CChar.self), CInt(text.count), copied)
    }

    private static func bind(blob: [UInt8], to statement: SQLiteStatement, at index: CInt) -> CInt {
        guard !blob.isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
        return sqlite3_bind_blob(statement, index, blob, CInt(blob.count), copied)
    }
}
