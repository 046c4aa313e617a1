import Events
import GRDB
import JSON
import Time

extension RecordStore {
    /// Writes the content of the store in a fixed order, a row on each line. Indexes, and rows that no read can find,
    /// are left out.
    ///
    /// Two stores of one log at one position have equal lines if both have applied the log from its first event, and if
    /// ``RecordWriter/forget(before:)`` has allowed both to forget the same deletions. Nothing else in their histories
    /// matters.
    package func dump(_ line: (String) throws -> Void) throws(RecordStoreError) {
        try read { db in
            let applied = try Applied(db)
            try line("applied|\(applied.sequence)|\(applied.time.microseconds)")
            for table in StoreDump.tables {
                try db.prepared(table.sql).each { row in
                    try line(StoreDump.line(table.name, row, columns: table.columns))
                    return true
                }
            }
        }
    }

    /// A number that tells stores with different ``dump(_:)`` apart.
    package func digest() throws(RecordStoreError) -> UInt64 {
        var digest: UInt64 = 0
        try dump { line in
            for byte in line.utf8 { digest = Mixer.scramble(digest ^ UInt64(byte)) }
            digest = Mixer.scramble(digest)
        }
        return digest
    }
}

private enum StoreDump {
    struct Table {
        let name: String
        let columns: Int
        let sql: String
    }

    private static let zoneKey = "d.container, d.environment, d.scope, d.owner, z.name, z.owner"
    private static let living = "zones z ON z.id = x.zone AND z.deleted IS NULL JOIN databases d ON d.id = z.database"
    private static let floor = "(SELECT ifnull(max(value), 0) FROM facts WHERE name = 'floor')"

    // `links & 3` leaves out RecordLinks.Kinds.types, which rows from older versions may lack.
    static let tables = [
        Table(
            name: "zone", columns: 9,
            sql: """
                SELECT \(zoneKey), z.id, z.changed, z.deleted FROM zones z JOIN databases d ON d.id = z.database
                WHERE z.deleted IS NULL OR (z.isReplaced = 0 AND z.deleted > \(floor)) ORDER BY z.id
                """),
        Table(
            name: "record", columns: 19,
            sql: """
                SELECT \(zoneKey), x.id, x.name, x.type, x.sequence, x.createdTime, x.createdBy, x.createdOn,
                    x.modifiedTime, x.modifiedBy, x.modifiedOn, x.links & 3, x.others, x.fields
                FROM records x JOIN \(living) WHERE x.fields IS NOT NULL OR x.sequence > \(floor) ORDER BY x.id
                """),
        Table(
            name: "reference", columns: 9,
            sql: """
                SELECT \(zoneKey), hex(x.target), x.record, x.isBroken FROM deleteReferences x JOIN \(living)
                ORDER BY x.record, x.target
                """),
        Table(
            name: "asset", columns: 8,
            sql: "SELECT \(zoneKey), x.checksum, x.record FROM assets x JOIN \(living) ORDER BY x.record, x.checksum"),
        Table(
            name: "\(Member.user)", columns: 3,
            sql: "SELECT container, environment, user FROM accounts ORDER BY 1, 2, 3"),
        Table(
            name: "subscription", columns: 7,
            sql: """
                SELECT a.container, a.environment, a.user, x.scope, x.id, x.sequence, x.body FROM subscriptions x
                JOIN accounts a ON a.id = x.account ORDER BY x.sequence
                """),
        Table(
            name: "device", columns: 8,
            sql: """
                SELECT a.container, a.environment, a.user, x.name, x.sequence, x.transport, x.token, x.topic
                FROM devices x JOIN accounts a ON a.id = x.account ORDER BY x.sequence
                """),
    ]

    /// Values are quoted, so that a value that contains `|` does not look like two values.
    static func line(_ table: String, _ row: SQLRow, columns: Int) -> String {
        var line = ByteBuffer()
        line.append(raw: table)
        for column in 0..<columns {
            line.append("|")
            if let text = row.textIfAny(column) { line.appendJSON(text) }
        }
        return line.text
    }
}
