import Foundation
import JSON
import Synchronization

extension CKSubscription {
    public typealias NotificationInfo = CKNotificationInfo
}

/// What a subscription's pushes show, play and carry.
///
/// Anything but ``shouldSendContentAvailable`` makes a push visual: sent at once, with high priority.
open class CKNotificationInfo: NSObject, NSCopying, NSSecureCoding {
    private let state: Mutex<NotificationProperties>
    private let formatArgument = FormatArgument()

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

    /// Two are equal if they ask for the same; nothing and an empty list of fields are the same.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationInfo)?.properties.json.hasSameBytes(as: properties.json) ?? false
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(bytesOf: properties.json)
        return hasher.finalize()
    }

    open override var description: String { "<CKNotificationInfo \(properties.json)>" }

    open var alertBody: String? {
        get { self[\.alertBody] }
        set { self[\.alertBody] = newValue }
    }
    /// Beats ``alertBody``.
    open var alertLocalizationKey: String? {
        get { self[\.alertLocalizationKey] }
        set { self[\.alertLocalizationKey] = newValue }
    }
    /// Fields whose values stand for the variables of the localized text: strings, numbers or dates.
    open var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { self[\.alertLocalizationArgs] }
        set { self[\.alertLocalizationArgs] = newValue }
    }
    open var title: String? {
        get { self[\.title] }
        set { self[\.title] = newValue }
    }
    /// Beats ``title``.
    open var titleLocalizationKey: String? {
        get { self[\.titleLocalizationKey] }
        set { self[\.titleLocalizationKey] = newValue }
    }
    open var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { self[\.titleLocalizationArgs] }
        set { self[\.titleLocalizationArgs] = newValue }
    }
    open var subtitle: String? {
        get { self[\.subtitle] }
        set { self[\.subtitle] = newValue }
    }
    /// Beats ``subtitle``.
    open var subtitleLocalizationKey: String? {
        get { self[\.subtitleLocalizationKey] }
        set { self[\.subtitleLocalizationKey] = newValue }
    }
    open var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { self[\.subtitleLocalizationArgs] }
        set { self[\.subtitleLocalizationArgs] = newValue }
    }
    open var alertActionLocalizationKey: String? {
        get { self[\.alertActionLocalizationKey] }
        set { self[\.alertActionLocalizationKey] = newValue }
    }
    open var alertLaunchImage: String? {
        get { self[\.alertLaunchImage] }
        set { self[\.alertLaunchImage] = newValue }
    }
    /// `default` for the system's sound.
    open var soundName: String? {
        get { self[\.soundName] }
        set { self[\.soundName] = newValue }
    }
    /// Fields whose values the push carries: at most three; strings, numbers, places, dates or references.
    open var desiredKeys: [CKRecord.FieldKey]? {
        get { self[\.desiredKeys] }
        set { self[\.desiredKeys] = newValue }
    }
    /// Raises the user's badge by one.
    open var shouldBadge: Bool {
        get { self[\.shouldBadge] }
        set { self[\.shouldBadge] = newValue }
    }
    open var shouldSendContentAvailable: Bool {
        get { self[\.shouldSendContentAvailable] }
        set { self[\.shouldSendContentAvailable] = newValue }
    }
    open var shouldSendMutableContent: Bool {
        get { self[\.shouldSendMutableContent] }
        set { self[\.shouldSendMutableContent] = newValue }
    }
    open var category: String? {
        get { self[\.category] }
        set { self[\.category] = newValue }
    }
    /// The `apns-collapse-id` of the pushes, at most 64 bytes.
    open var collapseIDKey: String? {
        get { self[\.collapseIDKey] }
        set { self[\.collapseIDKey] = newValue }
    }

    private subscript<Value: Sendable>(path: WritableKeyPath<NotificationProperties, Value> & Sendable) -> Value {
        get { state.withLock { $0[keyPath: path] } }
        set { state.withLock { $0[keyPath: path] = newValue } }
    }
}

extension CKNotificationInfo: CVarArg {
    public var _cVarArgEncoding: [Int] { formatArgument.encoding(of: description) }
}

extension CKNotificationInfo {
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
