import Events
import JSON

/// The part of a push that differs.
package enum WhatIfCategory: String, CaseIterable, Sendable {
    case alertText = "alert text"
    case title
    case badge
    case sound
    case fields = "desired fields"
    case pruned
    case headers
    /// The two pushes stand for different record changes: their `causes` differ.
    case coalescing = "coalesced differently"
    case other

    /// The categories in which two pushes differ.
    static func differing(_ left: JSONValue, _ right: JSONValue) -> Set<WhatIfCategory> {
        var found: Set<WhatIfCategory> = []
        compare(left, right, [], &found)
        return found
    }

    private static func compare(_ left: JSONValue?, _ right: JSONValue?, _ path: [String], _ found: inout Set<Self>) {
        if let left, let right, left.raw.elementsEqual(right.raw) { return }
        // The members of `af` are the app's fields.
        if let left, let right, left.isObject, right.isObject, path.last != "af" {
            return compareMembers(left, right, path, &found)
        }
        if path == [Member.payload.description, "aps", "alert"], let left, let right {
            return compareAlerts(left, right, &found)
        }
        // apns-id only depends on the push's position in a log.
        if path != ["headers", "apns-id"] { found.insert(category(of: path)) }
    }

    /// Compares two alerts that differ and are not both objects. If one is an object and the other is a string, the
    /// string counts as the member `body` of an object. All other pairs differ in their text.
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

    private static func category(of path: [String]) -> WhatIfCategory {
        switch (path.first ?? "", path.dropFirst().first ?? "", path.last ?? "") {
        case (Member.causes, _, _): .coalescing
        case ("headers", _, _): .headers
        case (Member.payload, "aps", "badge"): .badge
        case (Member.payload, "aps", "sound"): .sound
        case (Member.payload, "aps", let key) where path.contains("alert"):
            // Also title-loc-key, subtitle-loc-args and so on.
            key.contains("title") ? .title : .alertText
        case (Member.payload, "ck", "af"): .fields
        case (Member.payload, "ck", "p"): .pruned
        default: .other
        }
    }
}
