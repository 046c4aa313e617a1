import Events
import JSON

/// Subscriptions deleted and saved again between changes, one in a hundred operations.
struct MatchEdits {
    /// Of so many operations one is an edit.
    static let operationsPerEdit = 100
    /// Far apart in the file, and none twice before all others.
    private static let stride = 7_919

    /// The lines of those that are deleted, and then saved again before the next is deleted.
    let lines: [Int]
    /// What deletes each.
    let deletions: [[UInt8]]
    /// Their subscription IDs.
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

    /// The edit after a change; nil after most.
    ///
    /// - Returns: Which of ``lines``, and whether it is deleted or saved.
    @inline(__always)
    func edit(after change: Int) -> (number: Int, isDelete: Bool)? {
        let between = MatchEdits.operationsPerEdit - 1
        guard change % between == between - 1 else { return nil }
        let edit = change / between
        return (edit / 2, edit % 2 == 0)
    }
}
