import GRDB

/// The tables. A file of another version is not converted, but rebuilt from the logs.
enum Schema {
    static let version = 2

    struct OtherVersion: Error {}

    static func make(in db: Database) throws {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        if found == version { return }
        guard found == 0, try !db.tableExists("accounts") else { throw OtherVersion() }
        try db.execute(sql: tables)
        try db.execute(sql: "PRAGMA user_version = \(version)")
    }

    /// - `notifications`: one row for each push of an account. `body` is the payload that the inbox shows:
    ///   ``CourierPush/unprunedPayload``, or ``CourierPush/payload`` if the former is nil. `mark` is the number, in the
    ///   log of marks (``MarksLog``), of the newest mark that changed the row; null if no mark did. `expires` is the
    ///   microsecond from which polls do not get the notification; null if the notification does not expire.
    /// - `deliveries`: one row for each push and device. `payload` is null if it equals the notification's body. A row
    ///   that a poll took stays as long as the notification, so that a repeat is recognised.
    /// - `accounts.held`: the number of the account's rows in `notifications`.
    /// - `accounts.floor`: the newest push that was removed because of its age or the size of the inbox. Pushes up to
    ///   this one are not added any more.
    /// - `devices.token`: null if the device is not registered at the courier, or if another device registered
    ///   the token later.
    private static let tables = """
        CREATE TABLE positions(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
        CREATE TABLE accounts(
            id INTEGER PRIMARY KEY, container TEXT NOT NULL, environment TEXT NOT NULL, user TEXT NOT NULL,
            held INTEGER NOT NULL DEFAULT 0, floor INTEGER NOT NULL DEFAULT 0,
            UNIQUE(container, environment, user));
        CREATE TABLE devices(
            id INTEGER PRIMARY KEY, account INTEGER NOT NULL, name TEXT NOT NULL, token TEXT UNIQUE, topic TEXT,
            UNIQUE(account, name));
        CREATE TABLE notifications(
            push INTEGER PRIMARY KEY, account INTEGER NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL,
            time INTEGER NOT NULL, expires INTEGER, isRead INTEGER NOT NULL DEFAULT 0, mark INTEGER);
        CREATE INDEX notificationsOfAccount ON notifications(account, push);
        CREATE INDEX notificationsByID ON notifications(account, id);
        CREATE INDEX notificationsMarked ON notifications(account, mark) WHERE mark IS NOT NULL;
        CREATE INDEX notificationsByTime ON notifications(time);
        CREATE TABLE deliveries(
            push INTEGER NOT NULL REFERENCES notifications(push) ON DELETE CASCADE, device INTEGER NOT NULL,
            apnsID TEXT UNIQUE, payload BLOB, taken INTEGER NOT NULL DEFAULT 0, UNIQUE(push, device));
        CREATE INDEX deliveriesToTake ON deliveries(device, push) WHERE taken = 0;
        CREATE TRIGGER notificationCame AFTER INSERT ON notifications BEGIN
            UPDATE accounts SET held = held + 1 WHERE id = new.account;
        END;
        CREATE TRIGGER notificationWent AFTER DELETE ON notifications BEGIN
            UPDATE accounts SET held = held - 1, floor = max(floor, old.push) WHERE id = old.account;
        END;
        """
}
