import Events
import JSON
import Replay

/// Describes the differences between the pushes of the recorded and the changed pipeline, for people or as JSON.
struct WhatIfText {
    let report: WhatIfReport

    var lines: [String] {
        guard !report.isSame else { return ["no difference in \(report.pushes.of("push"))"] }
        return [summary, ""] + table
    }

    private var summary: String {
        let changed =
            report.changed > 0 ? ["~ \(report.changed.of("push")) changed\(detail(report.categories))"] : []
        let counts = [
            report.added > 0 ? "+ \(report.added.of("push"))" : nil,
            report.removed > 0 ? "− \(report.removed.of("push"))" : nil,
        ]
        return (counts.compactMap { $0 } + changed).joined(separator: ", ")
    }

    private func detail(_ categories: [WhatIfCategory: Int]) -> String {
        let parts = WhatIfCategory.allCases.compactMap { category in
            categories[category].map { "\($0.grouped) \(category.rawValue)" }
        }
        return parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")
    }

    private var table: [String] {
        var table = TextTable("SUBSCRIPTION", "+", "−", "~", "EXAMPLE CHANGE")
        for group in report.groups {
            table.add(
                "\(group.user) \(group.subscription)".printable, group.added.grouped, group.removed.grouped,
                group.changed.grouped, group.example == .max ? "-" : "\(group.example)")
        }
        return table.lines
    }

    var json: [String] { report.groups.map(WhatIfText.json) + [summaryJSON] }

    private static func json(_ group: WhatIfReport.Group) -> String {
        ByteBuffer.object {
            $0.append("type", "subscription")
            $0.append(.user, group.user.string)
            $0.append(.subscriptionID, group.subscription.string)
            write(group.added, group.removed, group.changed, group.categories, to: &$0)
            if group.example != .max { $0.append(.change, group.example) }
        }.text
    }

    private var summaryJSON: String {
        ByteBuffer.object {
            $0.append("type", "summary")
            $0.append("pushes", report.pushes)
            WhatIfText.write(report.added, report.removed, report.changed, report.categories, to: &$0)
        }.text
    }

    private static func write(
        _ added: Int, _ removed: Int, _ changed: Int, _ categories: [WhatIfCategory: Int], to buffer: inout ByteBuffer
    ) {
        buffer.append("added", added)
        buffer.append("removed", removed)
        buffer.append("changed", changed)
        buffer.append(member: "categories")
        buffer.object {
            for category in WhatIfCategory.allCases {
                guard let count = categories[category] else { continue }
                $0.append(key: category.rawValue)
                $0.appendJSON(count)
            }
        }
    }
}
