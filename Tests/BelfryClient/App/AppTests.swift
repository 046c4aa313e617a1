import BelfryClient
import Testing

/// The other files of this folder are sources of an app for Apple's systems. Only their imports were changed. All files
/// are compiled twice: in Swift 6 from `Tests/BelfryClient/App`, and in Swift 5 from `Tests/BelfryClientSwift5`, whose
/// files are symbolic links to those in `Tests/BelfryClient/App`.
@Suite struct AppTests {
    private static var query: [AnyHashable: Any] {
        let content: [String: Any] = [
            "sid": "notes-1", "dbs": 1, "zid": "Notes", "zoid": "_alice", "rid": "n1", "fo": 3,
        ]
        let ck: [String: Any] = ["nid": "1", "cid": "iCloud.com.example.Notes", "ckuserid": "_alice", "qry": content]
        return ["aps": ["alert": "A note changed"], "ck": ck]
    }

    private static var database: [AnyHashable: Any] {
        let ck: [String: Any] = ["nid": "2", "met": ["sid": "sync", "dbs": 1] as [String: Any]]
        return ["aps": ["content-available": 1], "ck": ck]
    }

    @Test func `an app can extend notifications`() throws {
        let notification = try #require(CKNotification(userInfo: Self.query) as? CKQueryNotification)
        #expect(notification.isMine && notification.isDeletion && notification.isFor(CKRecord.ID(recordName: "_alice")))
        #expect(notification.kind == "query" && notification.queryNotificationReason.word == "deleted")
        #expect(notification.place?.path == "Notes/n1" && notification["title"] == nil)
        #expect([notification].subscriptionIDs == ["notes-1"] && CKNotification.familyName == "CloudKit")
        #expect(CKQueryNotification(userInfo: Self.database) == nil)
    }

    @Test func `an app can extend subscriptions and notification infos`() throws {
        let subscription = CKQuerySubscription(notesOf: CKRecord.ID(inNotes: "alice"))
        subscription.watch(.notes)
        subscription.notificationInfo = CKSubscription.NotificationInfo(notesWith: "NOTE")
        var installed: Set<String> = []
        subscription.markInstalled(in: &installed)
        #expect(installed == ["didInstall.notes-of-alice"] && subscription.id == "notes-of-alice")
        #expect(!subscription.isSilent && CKSubscription.databaseChanges().isSilent)
        #expect((subscription as any RecordWatching).watchedType == "Note")
    }

    @Test func `an app can subclass subscriptions and notification infos`() throws {
        let tagged = TagSubscription(tag: "swift")
        let data = try NSKeyedArchiver.archivedData(withRootObject: tagged, requiringSecureCoding: true)
        let back = try NSKeyedUnarchiver.unarchivedObject(ofClass: TagSubscription.self, from: data)
        #expect(back?.tag == "swift" && back?.predicate == tagged.predicate && back?.subscriptionID == "tag-swift")
        let author = AuthorSubscription(notesOf: CKRecord.ID(inNotes: "bob"))
        #expect(author.recordType == "Note" && "\(author)" == "author: notes-of-bob")
        #expect(NotesZoneSubscription("zone").isOfNotes)
        let quiet = QuietInfo()
        quiet.soundName = "default"
        #expect(quiet.isSilent && quiet.soundName == nil)
    }

    @Test @MainActor func `notifications and subscriptions can pass from actor to actor`() async throws {
        let model = NotesModel()
        #expect(await model.didReceive(Self.query))
        #expect(await !model.didReceive(Self.database) && model.last is CKDatabaseNotification)
        let installed = await model.install(NotesSync.everything)
        #expect(model.subscriptions[CKSubscription.databaseChangesID] === installed)
        #expect(installed.notificationInfo?.shouldBadge == true)
    }

    @Test func `notifications can pass through a stream and to a queue`() async throws {
        var kinds: [String] = []
        for await notification in Pushes.stream(of: [Self.query, Self.database]) {
            kinds.append(await Pushes.onQueue(notification))
        }
        #expect(kinds == ["query", "database"])
    }
}
