import JSON

/// How the pushes of the variant differ from the pushes of the baseline.
package struct WhatIfReport: Sendable {
    /// The differences for one subscription.
    package struct Group: Sendable {
        package let user: ExactText
        package let subscription: ExactText
        package var added = 0
        package var removed = 0
        package var changed = 0
        package var categories: [WhatIfCategory: Int] = [:]
        /// The lowest sequence of a change whose push differs. A push with several causes counts with its last cause.
        /// `UInt64.max` if no push names a change.
        package var example: UInt64 = .max

        package var all: Int { added + removed + changed }
    }

    /// How many pushes of the baseline were compared.
    package internal(set) var pushes = 0
    private var byKey: [Key: Group] = [:]

    private struct Key: Hashable {
        let user: ExactText
        let subscription: ExactText
    }

    /// Groups with the most differences first, then by user and subscription.
    package var groups: [Group] {
        byKey.values.sorted {
            $0.all == $1.all ? ($0.user, $0.subscription) < ($1.user, $1.subscription) : $0.all > $1.all
        }
    }

    package var added: Int { byKey.values.reduce(0) { $0 + $1.added } }
    package var removed: Int { byKey.values.reduce(0) { $0 + $1.removed } }
    package var changed: Int { byKey.values.reduce(0) { $0 + $1.changed } }
    package var isSame: Bool { byKey.isEmpty }

    /// How many pushes differ in each category. One push may count in several categories.
    package var categories: [WhatIfCategory: Int] {
        byKey.values.reduce(into: [:]) { $0.merge($1.categories, uniquingKeysWith: +) }
    }

    mutating func noteAddition(of push: ComparedPush) { note(push) { $0.added += 1 } }
    mutating func noteRemoval(of push: ComparedPush) { note(push) { $0.removed += 1 } }

    mutating func noteChange(of push: ComparedPush, in categories: Set<WhatIfCategory>) {
        note(push) { group in
            group.changed += 1
            for category in categories { group.categories[category, default: 0] += 1 }
        }
    }

    private mutating func note(_ push: ComparedPush, _ change: (inout Group) -> Void) {
        let key = Key(user: push.key.user, subscription: push.key.subscription)
        var group = byKey[key] ?? Group(user: key.user, subscription: key.subscription)
        change(&group)
        group.example = min(group.example, push.causes.last ?? .max)
        byKey[key] = group
    }
}
