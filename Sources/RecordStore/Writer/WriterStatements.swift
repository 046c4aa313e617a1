import GRDB

/// The writer's statements for records, their links and their index entries, prepared once. Looking a statement up by
/// its text, as the writer does for zones and subscriptions, would take longer than running some of these.
struct WriterStatements {
    let findRecord: PreparedStatement
    let insertRecord: PreparedStatement
    let updateRecord: PreparedStatement
    let markRecordDeleted: PreparedStatement
    let removeRecord: PreparedStatement
    let breakReferences: PreparedStatement
    let restoreReferences: PreparedStatement
    let addReference: PreparedStatement
    let brokenTargets: PreparedStatement
    let removeReferences: PreparedStatement
    let addAsset: PreparedStatement
    let removeAssets: PreparedStatement
    let addEntry: PreparedStatement
    let removeEntry: PreparedStatement

    init(_ db: Database) throws {
        func make(_ sql: String) throws -> PreparedStatement { PreparedStatement(try db.makeStatement(sql: sql)) }
        findRecord = try make("SELECT \(RecordRow.sql) FROM records WHERE zone = ? AND name = ?")
        insertRecord = try make(
            "INSERT INTO records(\(RecordRow.sql)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        updateRecord = try make(
            """
            UPDATE records SET sequence = ?, modifiedTime = ?, modifiedBy = ?, modifiedOn = ?, others = ?, fields = ?,
                links = ? WHERE id = ?
            """)
        markRecordDeleted = try make(
            """
            UPDATE records SET sequence = ?, modifiedTime = ?, modifiedBy = ?, modifiedOn = ?, others = NULL,
                fields = NULL, links = 0 WHERE id = ?
            """)
        removeRecord = try make("DELETE FROM records WHERE id = ?")
        breakReferences = try make("UPDATE deleteReferences SET isBroken = 1 WHERE database = ? AND target = ?")
        restoreReferences = try make(
            "UPDATE deleteReferences SET isBroken = 0 WHERE database = ? AND target = ? AND isBroken = 1")
        addReference = try make("INSERT OR IGNORE INTO deleteReferences VALUES (?, ?, ?, ?, ?)")
        brokenTargets = try make("SELECT target FROM deleteReferences WHERE record = ? AND isBroken = 1")
        removeReferences = try make("DELETE FROM deleteReferences WHERE record = ?")
        addAsset = try make("INSERT OR IGNORE INTO assets VALUES (?, ?, ?)")
        removeAssets = try make("DELETE FROM assets WHERE record = ?")
        addEntry = try make("INSERT OR IGNORE INTO fieldEntries VALUES (?, ?, ?)")
        removeEntry = try make("DELETE FROM fieldEntries WHERE list = ? AND key = ? AND record = ?")
    }
}
