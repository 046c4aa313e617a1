import GRDB

/// One page of a zone's changes, and the token for the next page.
struct ChangesRead {
    private let from: ChangeToken
    private let applied: UInt64
    private let reverse: ChangeToken.Reverse?
    private var hasMore = false
    private var hasChangesAfterTop = false
    /// The sequence of the last row on the page.
    private var last: UInt64?

    /// - Parameter applied: The last sequence in the store.
    init(from: ChangeToken, applied: UInt64, isReverse: Bool) {
        (self.from, self.applied) = (from, applied)
        reverse = isReverse ? from.reverse ?? ChangeToken.Reverse(below: applied + 1, top: applied) : nil
    }

    /// Calls `body` for at most `limit` changed records, until `body` returns false. The record for which it returned
    /// false comes on the next page.
    mutating func rows(
        of zone: Int64, limit: Int, _ db: some SQLConnection, _ body: (RecordRow) throws -> Bool
    ) throws {
        var count = 0
        try db.prepared(
            """
            SELECT \(RecordRow.sql) FROM records
            WHERE zone = ? AND sequence > ? AND sequence < ? AND (fields IS NOT NULL OR sequence > ?)
            ORDER BY sequence \(reverse == nil ? "" : "DESC")
            """
        ).each([
            .int(zone), .sequence(from.position), .sequence(reverse?.below ?? applied + 1), .sequence(from.settled),
        ]) { row in
            guard count < limit, try body(RecordRow(row: row)) else {
                hasMore = true
                return false
            }
            (count, last) = (count + 1, row.sequence(4))
            return true
        }
        if !hasMore, let reverse { try findChanges(after: reverse.top, in: zone, db) }
    }

    /// Looks for changes that came after the first page of a read in reverse.
    private mutating func findChanges(after top: UInt64, in zone: Int64, _ db: some SQLConnection) throws {
        hasChangesAfterTop =
            try db.prepared("SELECT 1 FROM records WHERE zone = ? AND sequence > ? LIMIT 1").first([
                .int(zone), .sequence(top),
            ]) { _ in true } ?? false
    }

    var moreComing: Bool { hasMore || hasChangesAfterTop }

    /// The token for the changes after this page.
    var next: ChangeToken {
        guard hasMore else { return ChangeToken(log: from.log, position: reverse?.top ?? applied, began: 0) }
        var next = from
        guard let reverse else {
            (next.position, next.reverse) = (last ?? from.position, nil)
            return next
        }
        next.reverse = ChangeToken.Reverse(below: last ?? reverse.below, top: reverse.top)
        return next
    }
}
