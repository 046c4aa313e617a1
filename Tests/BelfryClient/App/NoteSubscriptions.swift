import BelfryClient

// The source of an app for Apple's systems. Only the line above was changed: the app has `import CloudKit` there.

protocol Installable {
    var installedKey: String { get }
}

extension CKSubscription: Installable {
    static let databaseChangesID: CKSubscription.ID = "database-changes"

    static func databaseChanges() -> CKDatabaseSubscription {
        let subscription = CKDatabaseSubscription(subscriptionID: databaseChangesID)
        subscription.notificationInfo = .silent
        return subscription
    }

    var installedKey: String { "didInstall.\(subscriptionID)" }
    var isSilent: Bool { notificationInfo?.isSilent ?? true }

    func markInstalled(in installed: inout Set<String>) { installed.insert(installedKey) }
}

extension CKSubscription: Identifiable {
    public var id: CKSubscription.ID { subscriptionID }
}

extension CKSubscription.NotificationInfo {
    class var silent: CKSubscription.NotificationInfo {
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        return info
    }

    convenience init(notesWith category: String) {
        self.init(alertBody: "A note changed", soundName: "default", category: category)
    }

    var isSilent: Bool { alertBody == nil && alertLocalizationKey == nil && shouldSendContentAvailable }
}

protocol RecordWatching: AnyObject {
    var watchedType: CKRecord.RecordType { get }
    func watch(_ zone: CKRecordZone.ID)
}

extension CKQuerySubscription: RecordWatching {
    convenience init(notesOf author: CKRecord.ID) {
        let reference = CKRecord.Reference(recordID: author, action: .none)
        self.init(
            recordType: "Note", predicate: NSPredicate(format: "author == %@", reference),
            subscriptionID: "notes-of-\(author.recordName)", options: [.firesOnRecordCreation, .firesOnRecordUpdate])
    }

    var watchedType: CKRecord.RecordType { recordType }
    func watch(_ zone: CKRecordZone.ID) { zoneID = zone }
}

extension CKRecordZoneSubscription {
    var isOfNotes: Bool { zoneID.isOfNotes && recordType.map { $0 == "Note" } ?? true }
}

extension CKRecordZone.ID {
    static let notes = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
    var isOfNotes: Bool { zoneName == CKRecordZone.ID.notes.zoneName }
}

extension CKRecord.ID {
    convenience init(inNotes name: String) { self.init(recordName: name, zoneID: .notes) }
    var path: String { "\(zoneID.zoneName)/\(recordName)" }
}

/// A subclass with a designated initializer and a stored property of its own.
final class TagSubscription: CKQuerySubscription, @unchecked Sendable {
    let tag: String

    init(tag: String) {
        self.tag = tag
        super.init(
            recordType: "Note", predicate: NSPredicate(format: "%K CONTAINS %@", "tags", tag),
            subscriptionID: "tag-\(tag)", options: .firesOnRecordCreation)
    }

    required init(coder: NSCoder) {
        tag = coder.decodeObject(of: NSString.self, forKey: "tag") as String? ?? ""
        super.init(coder: coder)
    }

    override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(tag as NSString, forKey: "tag")
    }

    override var subscriptionID: CKSubscription.ID { "tag-\(tag)" }
}

/// A subclass that inherits every initializer, including those of extensions.
class AuthorSubscription: CKQuerySubscription, @unchecked Sendable {
    override var description: String { "author: \(subscriptionID)" }
}

class NotesZoneSubscription: CKRecordZoneSubscription, @unchecked Sendable {
    convenience init(_ subscriptionID: CKSubscription.ID) {
        self.init(zoneID: .notes, subscriptionID: subscriptionID)
        recordType = "Note"
    }
}

class QuietInfo: CKSubscription.NotificationInfo, @unchecked Sendable {
    override init() {
        super.init()
        shouldSendContentAvailable = true
    }

    required init?(coder: NSCoder) { super.init(coder: coder) }

    override var soundName: String? {
        get { nil }
        set {}
    }
}
