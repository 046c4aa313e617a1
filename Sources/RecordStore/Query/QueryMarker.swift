/// The text of a position in a query's results. The text is opaque to clients. It is valid only for
/// an equal query of the same zones and database.
enum QueryMarker {
    private static let version: UInt8 = 1

    static func text(_ position: RecordPosition, of query: RecordQuery, in database: DatabaseID) -> String {
        var out = OpaqueText(version: version)
        out.append(UInt64(bitPattern: position.id))
        for key in position.keys { out.append(key) }
        return out.text(for: purpose(query, database))
    }

    static func position(_ text: String, of query: RecordQuery, in database: DatabaseID) -> RecordPosition? {
        guard var read = OpaqueText.Reader(text, version: version, for: purpose(query, database)),
            let id = read.number()
        else { return nil }
        var keys: [[UInt8]] = []
        for _ in query.sort {
            guard let key = read.bytes() else { return nil }
            keys.append(key)
        }
        return read.isAtEnd ? RecordPosition(keys: keys, id: Int64(bitPattern: id)) : nil
    }

    private static func purpose(_ query: RecordQuery, _ database: DatabaseID) -> [UInt8] {
        var purpose = OpaqueText.purpose("query", database)
        switch query.zones {
        case .one(let zone): purpose += Array("\u{0}\(zone.name)\u{0}\(zone.owner ?? "")\u{0}".utf8)
        case .all: purpose += [1]
        }
        return purpose + query.canonical
    }
}
