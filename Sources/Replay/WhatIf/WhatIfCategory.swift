import Events
import JSON

/// In what a push differs.
package enum WhatIfCategory: String, CaseIterable, Sendable {
    case alertText = "alert text"
    case title
    case badge
    case sound
    case fields = "desired fields"
    case pruned
    case headers
    /// It stands for other changes: coalesced differently.
    case coalescing = "coalesced differently"
    case other

    static func all(_ left: JSONValue, _ right: JSONValue) -> Set<WhatIfCategory> {
        var found: Set<WhatIfCategory> = []
        compare(left, right, [], &found)
        return found
    }

    private static func compare(_ left: JSONValue?, _ right: JSONValue?, _ path: [String], _ found: inout Set<Self>) {
        if let left, let right, left.raw.elementsEqual(right.raw) { return }
        if let left, let right, left.isObject, right.isObject, !isLeaf(path) {
            return compareMembers(left, right, path, &found)
        }
        if path == [Member.payload.description, "aps", "alert"], let left, let right {
            return compareAlerts(left, right, &found)
        }
        if let category = optionalCategory(of: path) { found.insert(category) }
    }

    /// An alert that is a body alone is a text, any other an object.
    private static func compareAlerts(_ left: JSONValue, _ right: JSONValue, _ found: inout Set<Self>) {
        guard let parts = [left, right].first(where: \.isObject), let text = [left, right].first(where: \.isString)
        else {
            found.insert(.alertText)
            return
        }
        if parts["body"].map({ !$0.raw.elementsEqual(text.raw) }) ?? true { found.insert(.alertText) }
        for (key, _) in parts.members where !key.equals("body") {
            found.insert(category(of: [Member.payload.description, "aps", "alert", key.string ?? ""]))
        }
    }

    private static func compareMembers(
        _ left: JSONValue, _ right: JSONValue, _ path: [String], _ found: inout Set<Self>
    ) {
        for (key, value) in left.members {
            let name = key.string ?? ""
            compare(value, right.member(name), path + [name], &found)
        }
        for (key, value) in right.members where left.member(key.string ?? "") == nil {
            compare(nil, value, path + [key.string ?? ""], &found)
        }
    }

    private static func isLeaf(_ path: [String]) -> Bool { path.last == "af" }

    /// Nil for what follows from a position, and says nothing of its own.
    private static func optionalCategory(of path: [String]) -> WhatIfCategory? {
        path == ["headers", "apns-id"] ? nil : category(of: path)
    }

    private static func category(of path: [String]) -> WhatIfCategory {
        switch (path.first ?? "", path.dropFirst().first ?? "", path.last ?? "") {
        case (Member.causes, _, _): .coalescing
        case ("headers", _, _): .headers
        case (Member.payload, "aps", "badge"): .badge
        case (Member.payload, "aps", "sound"): .sound
        case (Member.payload, "aps", let key) where path.contains("alert"): isTitle(key) ? .title : .alertText
        case (Member.payload, "ck", "af"): .fields
        case (Member.payload, "ck", "p"): .pruned
        default: .other
        }
    }

    private static func isTitle(_ key: String) -> Bool { key.contains("title") || key.contains("subtitle") }
}
