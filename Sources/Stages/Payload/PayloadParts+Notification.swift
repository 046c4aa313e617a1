extension PayloadParts {
    /// The parts that a notification has, its desired fields apart.
    init(of notification: Notification) {
        self = [.container, .userRecordName, .zoneName, .zoneOwner]
        if notification.family == .query { formUnion([.reason, .recordName]) }
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
        insert(literal, if: text.hasLiteral)
        insert(key, if: text.key != nil)
        insert(arguments, if: text.hasArguments)
    }
}
