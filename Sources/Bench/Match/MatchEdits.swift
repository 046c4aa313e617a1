import Events
import JSON

/// Subscriptions to delete and save again between changes.
struct MatchEdits {
    /// One of this many operations is an edit; the others are changes.
    static let operationsPerEdit = 100
    /// The distance from one edited line to the next. It is prime, so that every line is edited once before a line is
    /// edited again, unless the number of lines is a multiple of it.
    private static let stride = 7_919

    /// The indexes of the lines that save the subscriptions to edit. Each of these subscriptions is deleted, and saved
    /// again before the next subscription is deleted.
    let lines: [Int]
    /// For each of ``lines``, the command that deletes its subscription.
    let deletions: [[UInt8]]
    /// The IDs of the subscriptions of ``lines``.
    let touched: Set<[UInt8]>

    init(_ subscriptions: MatchInput, changes: Int) throws {
        let edits = changes / (MatchEdits.operationsPerEdit - 1)
        lines = (0..<(edits + 1) / 2).map { $0 * MatchEdits.stride % subscriptions.count }
        var (deletions, touched) = ([[UInt8]](), Set<[UInt8]>())
        for line in lines {
            try subscriptions.readLines(of: line..<(line + 1)) { _, text in
                let (deletion, id) = try MatchEdits.deletion(of: text)
                deletions.append(deletion)
                touched.insert(id)
            }
        }
        (self.deletions, self.touched) = (deletions, touched)
    }

    private static func deletion(of line: UnsafeRawBufferPointer) throws -> (line: [UInt8], id: [UInt8]) {
        var parser = JSONParser()
        let save = try parser.parse(line)
        let id = save[.subscription]?[.subscriptionID]?.string ?? ""
        let deletion = ReportValue.object([
            "type": .text("subscription.delete"), "container": .text(save[.container]?.string ?? ""),
            "environment": .text(save[.environment]?.string ?? ""),
            "database": .text(save[.database]?.string ?? ""), Member.user.description: .text(save[.user]?.string ?? ""),
            Member.subscriptionID.description: .text(id),
        ])
        return (Array(deletion.json.utf8), Array(id.utf8))
    }

    /// - Returns: The index in ``lines``, and whether to delete its subscription or to save it; nil if no edit follows
    ///   the change.
    @inline(__always)
    func edit(after change: Int) -> (index: Int, isDelete: Bool)? {
        let between = MatchEdits.operationsPerEdit - 1
        guard change % between == between - 1 else { return nil }
        let edit = change / between
        return (edit / 2, edit % 2 == 0)
    }
}
