import Foundation
import JSON
import Synchronization

extension CKSubscription {
    /// CloudKit's name for the type ``CKNotificationInfo``.
    public typealias NotificationInfo = CKNotificationInfo
}

/// What a subscription's pushes show, play and carry.
///
/// A push is visible if it has an alert, a sound, a badge, a category or `mutable-content`. Visible pushes have high
/// priority. ``shouldSendContentAvailable``, ``desiredKeys``, ``collapseIDKey`` and the localization arguments do not
/// make a push visible.
open class CKNotificationInfo: NSObject, NSCopying, NSSecureCoding {
    private let state: Mutex<NotificationProperties>
    private let formatArgument = FormatArgument()

    /// Makes an empty notification info. If no property is set, the pushes are silent.
    public override init() { state = Mutex(NotificationProperties()) }

    convenience init(_ properties: NotificationProperties) {
        self.init()
        state.withLock { $0 = properties }
    }

    var properties: NotificationProperties { state.withLock { $0 } }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let properties = Archive.decode(from: coder, NotificationProperties.init(json:)) else { return nil }
        state = Mutex(properties)
    }

    open func encode(with coder: NSCoder) { Archive.encode(to: coder, properties.write) }

    open func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(properties) }

    /// Two notification infos are equal if all properties are equal. A list that is nil is equal to an empty list.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationInfo)?.properties.json.hasSameBytes(as: properties.json) ?? false
    }

    open override var hash: Int { properties.json.byteHash }

    open override var description: String { "<CKNotificationInfo \(properties.json)>" }

    /// The text of the alert.
    open var alertBody: String? {
        get { properties[text: .alertBody] }
        set { state.withLock { $0[text: .alertBody] = newValue } }
    }
    /// The key of the alert's text in the app's `Localizable.strings`. Takes precedence over ``alertBody``.
    open var alertLocalizationKey: String? {
        get { properties[text: .alertLocalizationKey] }
        set { state.withLock { $0[text: .alertLocalizationKey] = newValue } }
    }
    /// The fields whose values fill in the localized text. The values may be strings, numbers or dates.
    open var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { properties[list: .alertLocalizationArgs] }
        set { state.withLock { $0[list: .alertLocalizationArgs] = newValue } }
    }
    /// The title of the alert.
    open var title: String? {
        get { properties[text: .title] }
        set { state.withLock { $0[text: .title] = newValue } }
    }
    /// The key of the title in the app's `Localizable.strings`. Takes precedence over ``title``.
    open var titleLocalizationKey: String? {
        get { properties[text: .titleLocalizationKey] }
        set { state.withLock { $0[text: .titleLocalizationKey] = newValue } }
    }
    /// The fields whose values fill in the localized title.
    open var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { properties[list: .titleLocalizationArgs] }
        set { state.withLock { $0[list: .titleLocalizationArgs] = newValue } }
    }
    /// The subtitle of the alert.
    open var subtitle: String? {
        get { properties[text: .subtitle] }
        set { state.withLock { $0[text: .subtitle] = newValue } }
    }
    /// The key of the subtitle in the app's `Localizable.strings`. Takes precedence over ``subtitle``.
    open var subtitleLocalizationKey: String? {
        get { properties[text: .subtitleLocalizationKey] }
        set { state.withLock { $0[text: .subtitleLocalizationKey] = newValue } }
    }
    /// The fields whose values fill in the localized subtitle.
    open var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { properties[list: .subtitleLocalizationArgs] }
        set { state.withLock { $0[list: .subtitleLocalizationArgs] = newValue } }
    }
    /// The key of the action button's title in the app's `Localizable.strings`.
    open var alertActionLocalizationKey: String? {
        get { properties[text: .alertActionLocalizationKey] }
        set { state.withLock { $0[text: .alertActionLocalizationKey] = newValue } }
    }
    /// The launch image that the app shows when the user opens the alert.
    open var alertLaunchImage: String? {
        get { properties[text: .alertLaunchImage] }
        set { state.withLock { $0[text: .alertLaunchImage] = newValue } }
    }
    /// The sound file in the app, or `default` for the system's sound.
    open var soundName: String? {
        get { properties[text: .soundName] }
        set { state.withLock { $0[text: .soundName] = newValue } }
    }
    /// The fields whose values the push carries, at most three. The values may be strings, numbers, locations, dates or
    /// references.
    open var desiredKeys: [CKRecord.FieldKey]? {
        get { properties[list: .desiredKeys] }
        set { state.withLock { $0[list: .desiredKeys] = newValue } }
    }
    /// Whether each notification increments the user's badge by one.
    open var shouldBadge: Bool {
        get { properties[flag: .shouldBadge] }
        set { state.withLock { $0[flag: .shouldBadge] = newValue } }
    }
    /// Whether a visible push also wakes the app in the background (`content-available`). A push that is not visible
    /// always does.
    open var shouldSendContentAvailable: Bool {
        get { properties[flag: .shouldSendContentAvailable] }
        set { state.withLock { $0[flag: .shouldSendContentAvailable] = newValue } }
    }
    /// Whether the app's notification service extension may change the push (`mutable-content`).
    open var shouldSendMutableContent: Bool {
        get { properties[flag: .shouldSendMutableContent] }
        set { state.withLock { $0[flag: .shouldSendMutableContent] = newValue } }
    }
    /// The category whose actions the alert offers.
    open var category: String? {
        get { properties[text: .category] }
        set { state.withLock { $0[text: .category] = newValue } }
    }
    /// The `apns-collapse-id` of the pushes, at most 64 bytes.
    open var collapseIDKey: String? {
        get { properties[text: .collapseIDKey] }
        set { state.withLock { $0[text: .collapseIDKey] = newValue } }
    }
}

extension CKNotificationInfo: CVarArg {
    public var _cVarArgEncoding: [Int] { formatArgument.encoding(of: description) }
}

extension CKNotificationInfo {
    /// Sets every property at once.
    public convenience init(
        alertBody: String? = nil,
        alertLocalizationKey: String? = nil,
        alertLocalizationArgs: [CKRecord.FieldKey] = [],
        title: String? = nil,
        titleLocalizationKey: String? = nil,
        titleLocalizationArgs: [CKRecord.FieldKey] = [],
        subtitle: String? = nil,
        subtitleLocalizationKey: String? = nil,
        subtitleLocalizationArgs: [CKRecord.FieldKey] = [],
        alertActionLocalizationKey: String? = nil,
        alertLaunchImage: String? = nil,
        soundName: String? = nil,
        desiredKeys: [CKRecord.FieldKey] = [],
        shouldBadge: Bool = false,
        shouldSendContentAvailable: Bool = false,
        shouldSendMutableContent: Bool = false,
        category: String? = nil,
        collapseIDKey: String? = nil
    ) {
        self.init()
        self.alertBody = alertBody
        self.alertLocalizationKey = alertLocalizationKey
        self.alertLocalizationArgs = alertLocalizationArgs
        self.title = title
        self.titleLocalizationKey = titleLocalizationKey
        self.titleLocalizationArgs = titleLocalizationArgs
        self.subtitle = subtitle
        self.subtitleLocalizationKey = subtitleLocalizationKey
        self.subtitleLocalizationArgs = subtitleLocalizationArgs
        self.alertActionLocalizationKey = alertActionLocalizationKey
        self.alertLaunchImage = alertLaunchImage
        self.soundName = soundName
        self.desiredKeys = desiredKeys
        self.shouldBadge = shouldBadge
        self.shouldSendContentAvailable = shouldSendContentAvailable
        self.shouldSendMutableContent = shouldSendMutableContent
        self.category = category
        self.collapseIDKey = collapseIDKey
    }
}
