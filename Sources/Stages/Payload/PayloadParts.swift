/// The parts that a payload may leave out, in the order in which they are left out when the payload is too long.
///
/// Desired keys are left out first, beginning with the last key (Apple, CKNotification.isPruned). The parts in the list
/// of CKNotification.h follow, the least important first, and then the parts that the list does not name. The
/// environment, the IDs of notification and subscription, the database and the dictionary for the subscription type
/// always stay.
struct PayloadParts: OptionSet {
    let rawValue: UInt32

    static let thirdField = PayloadParts(rawValue: 1 << 0)
    static let secondField = PayloadParts(rawValue: 1 << 1)
    static let firstField = PayloadParts(rawValue: 1 << 2)
    static let subtitle = PayloadParts(rawValue: 1 << 3)
    static let subtitleArguments = PayloadParts(rawValue: 1 << 4)
    static let subtitleKey = PayloadParts(rawValue: 1 << 5)
    static let title = PayloadParts(rawValue: 1 << 6)
    static let titleArguments = PayloadParts(rawValue: 1 << 7)
    static let titleKey = PayloadParts(rawValue: 1 << 8)
    static let userRecordName = PayloadParts(rawValue: 1 << 9)
    static let container = PayloadParts(rawValue: 1 << 10)
    static let recordName = PayloadParts(rawValue: 1 << 11)
    static let reason = PayloadParts(rawValue: 1 << 12)
    static let contentAvailable = PayloadParts(rawValue: 1 << 13)
    static let sound = PayloadParts(rawValue: 1 << 14)
    static let launchImage = PayloadParts(rawValue: 1 << 15)
    static let actionKey = PayloadParts(rawValue: 1 << 16)
    static let body = PayloadParts(rawValue: 1 << 17)
    static let bodyArguments = PayloadParts(rawValue: 1 << 18)
    static let bodyKey = PayloadParts(rawValue: 1 << 19)
    static let badge = PayloadParts(rawValue: 1 << 20)
    static let mutableContent = PayloadParts(rawValue: 1 << 21)
    static let category = PayloadParts(rawValue: 1 << 22)
    static let zoneOwner = PayloadParts(rawValue: 1 << 23)
    static let zoneName = PayloadParts(rawValue: 1 << 24)

    /// All parts except the fields, with their names in the payload.
    static let named: [(part: PayloadParts, name: String)] = [
        (.subtitle, "subtitle"), (.subtitleArguments, "subtitle-loc-args"), (.subtitleKey, "subtitle-loc-key"),
        (.title, "title"), (.titleArguments, "title-loc-args"), (.titleKey, "title-loc-key"),
        (.userRecordName, "ckuserid"), (.container, "cid"), (.recordName, "rid"), (.reason, "fo"),
        (.contentAvailable, "content-available"), (.sound, "sound"), (.launchImage, "launch-image"),
        (.actionKey, "action-loc-key"), (.body, "body"), (.bodyArguments, "loc-args"), (.bodyKey, "loc-key"),
        (.badge, "badge"), (.mutableContent, "mutable-content"), (.category, "category"), (.zoneOwner, "zoid"),
        (.zoneName, "zid"),
    ]

    /// The desired fields in the order of their list, at most three (Apple, desiredKeys).
    static let fields: [PayloadParts] = [.firstField, .secondField, .thirdField]
    /// The parts inside `aps.alert`.
    static let alert: PayloadParts = [
        .subtitle, .subtitleArguments, .subtitleKey, .title, .titleArguments, .titleKey,
        .launchImage, .actionKey, .body, .bodyArguments, .bodyKey,
    ]

    /// The parts that make a push an alert: the parts that a user notices, and the parts that change what a user
    /// notices.
    static let visible: PayloadParts = alert.union([.sound, .badge, .mutableContent, .category])

    var isVisible: Bool { !isDisjoint(with: .visible) }

    /// The number of parts that are left out before the last visible part; 0 if no part is visible.
    var countBeforeLastVisible: Int {
        let visible = intersection(.visible).rawValue
        guard visible != 0 else { return 0 }
        let last = UInt32(1) << (31 - UInt32(visible.leadingZeroBitCount))
        return (rawValue & (last - 1)).nonzeroBitCount
    }

    /// The set without the `count` parts that are left out first.
    func dropping(_ count: Int) -> PayloadParts {
        var kept = rawValue
        for _ in 0..<count { kept &= kept &- 1 }
        return PayloadParts(rawValue: kept)
    }

    var count: Int { rawValue.nonzeroBitCount }

    /// The visible parts, then the parts that only the app reads. In each group, the part that would be left out last
    /// comes first.
    var mostValuableFirst: [PayloadParts] {
        [intersection(.visible), subtracting(.visible)].flatMap { parts in
            (0..<UInt32.bitWidth).reversed().map { PayloadParts(rawValue: 1 << $0) }.filter(parts.contains)
        }
    }

    mutating func insert(_ part: PayloadParts, if isPresent: Bool) {
        if isPresent { formUnion(part) }
    }
}

extension PayloadParts {
    /// The parts of a notification, without its desired fields.
    init(of notification: Notification) {
        self = [.container, .userRecordName, .zoneName, .zoneOwner]
        if notification.subscriptionType == .query { formUnion([.reason, .recordName]) }
        insertVisible(notification.info)
        insert(.contentAvailable, if: isVisible && notification.info.sendsContentAvailable)
    }

    private mutating func insertVisible(_ info: NotificationInfo) {
        insert(info.body, .body, .bodyKey, .bodyArguments)
        insert(info.title, .title, .titleKey, .titleArguments)
        insert(info.subtitle, .subtitle, .subtitleKey, .subtitleArguments)
        insert(.actionKey, if: info.actionKey != nil)
        insert(.launchImage, if: info.launchImage != nil)
        insert(.badge, if: info.shouldBadge)
        insert(.category, if: info.category != nil)
        insert(.mutableContent, if: info.sendsMutableContent)
        insert(.sound, if: info.sound != nil)
    }

    private mutating func insert(
        _ text: AlertText, _ literal: PayloadParts, _ key: PayloadParts, _ arguments: PayloadParts
    ) {
        insert(literal, if: text.usesLiteral)
        insert(key, if: text.key != nil)
        insert(arguments, if: text.usesArguments)
    }
}
