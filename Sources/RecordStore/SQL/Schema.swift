import GRDB
import Time

/// The tables. Belfry does not convert a file of another version: the operator makes the file again from the log.
enum Schema {
    static let version = 1
    /// "Belf" in ASCII: SQLite keeps it in the file's header.
    private static let applicationID = 0x4265_6C66

    /// Makes the tables in an empty file; checks any other file.
    ///
    /// - Throws: ``RecordStoreError`` if the file is not a store of this version and log; `DatabaseError` if SQLite
    ///   fails.
    static func prepare(_ db: Database, path: String, log: LogIdentity) throws {
        if try number("user_version", db) == 0, try isEmpty(db) { return try make(db, log) }
        try check(db, path: path)
        let identity = try Facts.text(.log, db) ?? ""
        guard identity == log.description else {
            throw RecordStoreError.otherLog(path: path, found: identity, expected: log)
        }
    }

    /// - Throws: ``RecordStoreError`` if the file is not a store of this version; `DatabaseError` if SQLite fails.
    static func check(_ db: some SQLConnection, path: String) throws {
        guard try number("application_id", db) == applicationID else {
            throw RecordStoreError.damaged(path: path, reason: "it is not a record store")
        }
        let found = try number("user_version", db)
        guard found == version else {
            throw RecordStoreError.otherVersion(path: path, found: found, known: version)
        }
    }

    private static func isEmpty(_ db: Database) throws -> Bool {
        try db.prepared("SELECT 1 FROM sqlite_master").first { _ in false } ?? true
    }

    private static func number(_ pragma: String, _ db: some SQLConnection) throws -> Int {
        Int(try db.prepared("PRAGMA \(pragma)").first { $0.int(0) } ?? 0)
    }

    private static func make(_ db: Database, _ log: LogIdentity) throws {
        try db.execute(sql: tables)
        try db.execute(sql: "PRAGMA user_version = \(version)")
        try db.execute(sql: "PRAGMA application_id = \(applicationID)")
        try Facts.set(.log, .text(log.description), db)
    }

    /// - `zones.id`: the sequence of the event that created the row: a `zone.save`, or the first `record.save` in a
    ///   zone without a row, such as the default zone. A zone that is made again has another ID.
    ///   `changed` is the sequence of the zone's newest change. `deleted` is the sequence of the zone's deletion; null
    ///   if the zone is not deleted. A deleted zone `isReplaced` after a zone with the same name was made.
    /// - `records.id`: the sequence of the save that created the record, so IDs are in the order of creation. A save
    ///   after a delete, or with another type, creates the record again, with a new ID. `sequence` is the sequence of
    ///   the newest save or delete. A deleted record keeps its row and its ID, without `fields`, until
    ///   ``RecordWriter/doMaintenance(rowsMax:)`` removes the row.
    /// - `records.links`: ``RecordLinks/Kinds``. `others`: members of the record that Belfry does not use.
    /// - `deleteReferences`: references with the action DELETE_SELF, by their target. `isBroken` is 1 from the deletion
    ///   of the target, or of the target's zone, until the target is saved again.
    /// - `fieldIndexes`: the indexes. Records with IDs up to `builtTo` are in the index; ``StoredIndex/complete`` means
    ///   all records. The entries of an index are in `fieldEntries`, where `list` is the ID of the index.
    private static let tables = """
        CREATE TABLE facts(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
        CREATE TABLE databases(
            id INTEGER PRIMARY KEY, container TEXT NOT NULL, environment TEXT NOT NULL, scope TEXT NOT NULL,
            owner TEXT NOT NULL, UNIQUE(container, environment, scope, owner));
        CREATE TABLE zones(
            id INTEGER PRIMARY KEY, database INTEGER NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,
            changed INTEGER NOT NULL, deleted INTEGER, isReplaced INTEGER NOT NULL DEFAULT 0);
        CREATE UNIQUE INDEX livingZones ON zones(database, name, owner) WHERE deleted IS NULL;
        CREATE INDEX deletedZones ON zones(database, name, owner) WHERE deleted IS NOT NULL;
        CREATE INDEX zonesByChange ON zones(database, changed);
        CREATE TABLE records(
            id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
            sequence INTEGER NOT NULL, createdTime INTEGER NOT NULL, createdBy TEXT, createdOn TEXT,
            modifiedTime INTEGER NOT NULL, modifiedBy TEXT, modifiedOn TEXT, links INTEGER NOT NULL, others TEXT,
            fields TEXT);
        CREATE UNIQUE INDEX recordsByName ON records(zone, name);
        CREATE INDEX recordsByChange ON records(zone, sequence);
        CREATE INDEX recordsByType ON records(zone, type) WHERE fields IS NOT NULL;
        CREATE INDEX tombstones ON records(sequence) WHERE fields IS NULL;
        CREATE TABLE deleteReferences(
            database INTEGER NOT NULL, target BLOB NOT NULL, record INTEGER NOT NULL, zone INTEGER NOT NULL,
            isBroken INTEGER NOT NULL, PRIMARY KEY(database, target, record)) WITHOUT ROWID;
        CREATE INDEX deleteReferencesOf ON deleteReferences(record);
        CREATE INDEX brokenReferences ON deleteReferences(database, record) WHERE isBroken = 1;
        CREATE TABLE assets(
            checksum TEXT NOT NULL, record INTEGER NOT NULL, zone INTEGER NOT NULL,
            PRIMARY KEY(checksum, record)) WITHOUT ROWID;
        CREATE INDEX assetsOf ON assets(record);
        CREATE TABLE accounts(
            id INTEGER PRIMARY KEY, container TEXT NOT NULL, environment TEXT NOT NULL, user TEXT NOT NULL,
            UNIQUE(container, environment, user));
        CREATE TABLE subscriptions(
            account INTEGER NOT NULL, scope TEXT NOT NULL, id TEXT NOT NULL, sequence INTEGER NOT NULL,
            body TEXT NOT NULL, PRIMARY KEY(account, scope, id)) WITHOUT ROWID;
        CREATE TABLE devices(
            account INTEGER NOT NULL, name TEXT NOT NULL, sequence INTEGER NOT NULL, transport TEXT NOT NULL,
            token TEXT NOT NULL, topic TEXT, PRIMARY KEY(account, name)) WITHOUT ROWID;
        CREATE TABLE fieldIndexes(
            id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, type TEXT NOT NULL, field TEXT NOT NULL,
            builtTo INTEGER NOT NULL DEFAULT 0, UNIQUE(zone, type, field));
        CREATE TABLE fieldEntries(
            list INTEGER NOT NULL, key BLOB NOT NULL, record INTEGER NOT NULL,
            PRIMARY KEY(list, key, record)) WITHOUT ROWID;
        """
}

/// Single facts about the whole store.
enum Facts: String {
    /// The identity of the log.
    case log
    /// The sequence of the last event that is in the tables.
    case applied
    /// The time of that event's batch, in microseconds since 1970.
    case appliedTime
    /// The store may lack deletions up to this sequence, so older change tokens have expired.
    case floor

    static func text(_ fact: Facts, _ db: some SQLConnection) throws -> String? {
        try read(fact, db) { $0.text(0) }
    }

    static func number(_ fact: Facts, _ db: some SQLConnection) throws -> Int64 {
        try read(fact, db) { $0.int(0) } ?? 0
    }

    private static func read<Value>(_ fact: Facts, _ db: some SQLConnection, _ value: (SQLRow) -> Value) throws
        -> Value?
    {
        try db.prepared("SELECT value FROM facts WHERE name = ?").first([.text(fact.rawValue)], value)
    }

    static func set(_ fact: Facts, _ value: SQLValue, _ db: Database) throws {
        try db.prepared("INSERT OR REPLACE INTO facts(name, value) VALUES (?, ?)").run([.text(fact.rawValue), value])
    }
}
