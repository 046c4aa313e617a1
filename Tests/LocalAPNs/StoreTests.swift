import Testing

@testable import LocalAPNs

struct StoreTests {
    private var store = Deliveries()
    /// Two apps on one device.
    private static let notes = DeviceApp(token: "ab01", bundle: "com.example.Notes")
    private static let mail = DeviceApp(token: "ab01", bundle: "com.example.Mail")

    private func push(
        _ id: String, _ address: DeviceApp = notes, collapse: String? = nil, expires: Int64 = .max,
        mayBeStored: Bool = true, background: Bool = false
    ) -> Push {
        var notice = Notice()
        notice.isBackground = background
        return Push(
            id: id, address: address, collapseID: collapse, expiresAt: expires, mayBeStored: mayBeStored,
            notice: notice)
    }

    @Test mutating func `one push of each app is stored for a device that is offline`() {
        #expect(store.deliver(push("1"), isOnline: false, at: 0) == .stored(overwritten: nil))
        #expect(store.deliver(push("2", collapse: "x"), isOnline: false, at: 0) == .stored(overwritten: "1"))
        #expect(store.deliver(push("3", StoreTests.mail), isOnline: false, at: 0) == .stored(overwritten: nil))
        #expect(store.deliverStoredPush(to: StoreTests.notes, at: 1)?.push.id == "2")
        #expect(store.deliverStoredPush(to: StoreTests.notes, at: 1) == nil)
        #expect(store.storedCount == 1)
    }

    @Test mutating func `a stored push that expires is dropped`() {
        _ = store.deliver(push("1", expires: 10), isOnline: false, at: 0)
        _ = store.deliver(push("2", StoreTests.mail, expires: 11), isOnline: false, at: 0)
        #expect(store.expire(at: 9).isEmpty)
        #expect(store.expire(at: 10).map(\.id) == ["1"])
        #expect(store.deliverStoredPush(to: StoreTests.mail, at: 11)?.fate == .expired)
    }

    @Test mutating func `a push with expiration 0 or an expiration that has passed is not stored`() {
        #expect(store.deliver(push("1", mayBeStored: false), isOnline: false, at: 0) == .dropped)
        #expect(store.deliver(push("2", mayBeStored: false), isOnline: true, at: 0) == .shown(replaced: nil))
        #expect(store.deliver(push("3", expires: 5), isOnline: false, at: 5) == .expired)
        #expect(store.storedCount == 0)
    }

    @Test mutating func `a notification replaces the notification with the same collapse ID`() {
        #expect(store.deliver(push("1", collapse: "x"), isOnline: true, at: 0) == .shown(replaced: nil))
        #expect(store.deliver(push("2", collapse: "y"), isOnline: true, at: 0) == .shown(replaced: nil))
        #expect(store.deliver(push("3", collapse: "x"), isOnline: true, at: 0) == .shown(replaced: "1"))
        let other = push("4", StoreTests.mail, collapse: "x")
        #expect(store.deliver(other, isOnline: true, at: 0) == .shown(replaced: nil))
        #expect(store.deliver(push("5"), isOnline: true, at: 0) == .shown(replaced: nil))
    }

    @Test mutating func `a background push replaces no notification`() {
        _ = store.deliver(push("1", collapse: "x"), isOnline: true, at: 0)
        let fate = store.deliver(push("2", collapse: "x", background: true), isOnline: true, at: 0)
        #expect(fate == .shown(replaced: nil))
    }

    @Test func `RecentValues remembers the newest keys, and forgets the oldest key`() {
        var recent = RecentValues<Int, Int>(countMax: 4)
        for key in 1...5 { #expect(recent.insert(key, for: key) == nil) }
        #expect(recent.insert(0, for: 5) == 5)
        #expect(recent.insert(0, for: 4) == 4)
        #expect(recent.insert(0, for: 1) == nil)
    }
}

struct NoticeTests {
    private func notice(_ json: String) -> Notice { Notice(payload: Array(json.utf8)) }

    @Test func `an alert is a string, or has a title, a subtitle and a body`() {
        #expect(notice(#"{"aps":{"alert":"Hi"}}"#).body == "Hi")
        let parts = notice(#"{"aps":{"alert":{"title":"T","subtitle":"S","body":"B"},"badge":3,"sound":"ping"}}"#)
        #expect([parts.title, parts.subtitle, parts.body, parts.sound] == ["T", "S", "B", "ping"])
        #expect(parts.badge == 3)
    }

    @Test func `a localized text is shown as its key and arguments`() {
        let notice = notice(
            #"{"aps":{"alert":{"loc-key":"NEW_NOTE","loc-args":["Alice","Home"],"title-loc-key":"T"}}}"#)
        #expect(notice.body == "NEW_NOTE(Alice, Home)")
        #expect(notice.title == "T")
    }

    @Test func `a push without alert, badge or sound is a background push`() {
        #expect(notice(#"{"aps":{"content-available":1}}"#).isBackground)
        #expect(!notice(#"{"aps":{"badge":0}}"#).isBackground)
    }
}
