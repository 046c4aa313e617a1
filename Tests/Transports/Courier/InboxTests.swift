import Foundation
import Testing

@testable import TransportCourier

@Suite struct InboxTests {
    private let mac = Device("mac")

    @Test func `fetches continue after a change token, page by page, over restarts`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        for number in 1...5 { try await rig.deliver(rig.push("\(number)", to: mac)) }
        let first = try await rig.fetch(mac, limit: 2)
        #expect(first.alerts == ["1", "2"] && first.moreComing)
        try await rig.restart()
        let second = try await rig.fetch(mac, since: first.serverChangeToken, limit: 3)
        #expect(second.alerts == ["3", "4", "5"] && !second.moreComing)
        try await rig.deliver(rig.push("6", to: mac))
        try await rig.restart { try rig.removeStore() }
        let third = try await rig.fetch(mac, since: second.serverChangeToken)
        #expect(third.alerts == ["6"] && !third.moreComing)
        #expect(try await rig.fetch(mac, since: third.serverChangeToken).alerts == [])
        try await rig.stop()
    }

    @Test func `a client learns which notifications were read since its last fetch`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        for text in ["a", "b", "c"] { try await rig.deliver(rig.push(text, to: mac)) }
        let before = try await rig.fetch(mac)
        #expect(before.notifications.allSatisfy { !$0.isRead })
        let reply = try await rig.markRead(["n-a", "n-c", "n-x"], mac)
        #expect(reply.body == #"{"notificationIDs":["n-a","n-c"],"unknown":["n-x"]}"#)
        _ = try await rig.markRead(["n-a"], mac)
        let after = try await rig.fetch(mac, since: before.serverChangeToken)
        #expect(after.ids == ["n-a", "n-c"] && after.notifications.allSatisfy(\.isRead))
        try await rig.restart { try rig.removeStore() }
        #expect(try await rig.fetch(mac, since: before.serverChangeToken) == after)
        #expect(try await rig.fetch(mac).notifications.map(\.isRead) == [true, false, true])
        #expect(try await rig.fetch(mac, since: after.serverChangeToken).notifications.isEmpty)
        try await rig.stop()
    }

    @Test func `an inbox has the complete notification, and a poll gets the pruned notification`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        let whole = #"{"aps":{"alert":"all of it"},"ck":{}}"#
        try await rig.deliver(rig.push("short", to: mac, unpruned: whole))
        try await rig.restart()
        #expect(try await rig.fetch(mac).alerts == ["all of it"])
        try await rig.restart { try rig.removeStore() }
        #expect(try await rig.fetch(mac).alerts == ["all of it"])
        #expect(try await rig.poll(mac).body.contains("short"))
        try await rig.stop()
    }

    @Test func `a page ends with the notification that brings it to 1 MiB`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        let long = String(repeating: "x", count: 600_000)
        for text in ["a", "b", "c"] {
            try await rig.deliver(rig.push(text, to: mac, unpruned: #"{"aps":{"alert":"\#(long)"},"ck":{}}"#))
        }
        let page = try await rig.fetch(mac)
        #expect(page.ids == ["n-a", "n-b"] && page.moreComing)
        #expect(try await rig.fetch(mac, since: page.serverChangeToken).ids == ["n-c"])
        try await rig.stop()
    }

    @Test func `no user sees another user's inbox`() async throws {
        let rig = try await CourierRig("pollTimeout: 100ms")
        let bob = Device("mac", of: "_bob")
        try rig.register(mac)
        try rig.register(bob)
        try await rig.deliver(rig.push("alice's", to: mac) + rig.push("bob's", to: bob))
        #expect(try await rig.fetch(mac).alerts == ["alice's"])
        #expect(try await rig.fetch(bob).alerts == ["bob's"])
        #expect(try await rig.markRead(["n-alice's"], bob).body == #"{"notificationIDs":[],"unknown":["n-alice's"]}"#)
        #expect(try await rig.fetch(mac).notifications.map(\.isRead) == [false])
        #expect(try await rig.poll(bob).body.contains("bob's"))
        #expect(try await rig.poll(bob).body.isEmpty)
        try await rig.stop()
    }

    @Test func `a repeated push adds no notification, even if its notification was polled or removed`() async throws {
        let rig = try await CourierRig("pollTimeout: 100ms\nkeepPerUser: 2")
        try rig.register(mac)
        let pushes = try rig.push("a", to: mac) + rig.push("b", to: mac) + rig.push("c", to: mac)
        for _ in 1...2 {
            #expect(try await rig.deliver(pushes).map(\.outcome) == [.accepted, .accepted, .accepted])
            #expect(try await rig.fetch(mac).alerts == ["b", "c"])
        }
        #expect(try await rig.poll(mac).body.contains(#""b""#))
        #expect(try await rig.poll(mac).body.contains(#""c""#))
        try await rig.deliver(pushes)
        #expect(try await rig.poll(mac).body.isEmpty)
        #expect(try await rig.fetch(mac).alerts == ["b", "c"])
        try await rig.stop()
    }

    @Test func `a push that comes after a push with a higher number is not skipped`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        let (early, later) = (try rig.push("early", to: mac), try rig.push("later", to: mac))
        try await rig.deliver(later)
        let token = try await rig.fetch(mac).serverChangeToken
        try await rig.deliver(early)
        #expect(try await rig.fetch(mac, since: token).alerts == ["early"])
        #expect(try await rig.fetch(mac).alerts == ["early", "later"])
        try await rig.stop()
    }

    @Test func `notifications that are too old are removed, also from a rebuilt store`() async throws {
        let rig = try await CourierRig("keep: 1h")
        try rig.register(mac)
        try await rig.deliver(rig.push("old", to: mac))
        rig.advanceClock(by: .seconds(3000))
        try await rig.deliver(rig.push("new", to: mac))
        #expect(try await rig.fetch(mac).alerts == ["old", "new"])
        rig.advanceClock(by: .seconds(1000))
        try await rig.deliver(rig.push("newest", to: mac))
        #expect(try await rig.fetch(mac).alerts == ["new", "newest"])
        try await rig.restart { try rig.removeStore() }
        #expect(try await rig.fetch(mac).alerts == ["new", "newest"])
        try await rig.stop()
    }

    @Test func `a rebuilt store has redriven pushes`() async throws {
        let rig = try await CourierRig()
        let phone = Device("phone")
        try rig.register(phone)
        try await rig.deliver([rig.redrive("again", to: phone)])
        let before = try await rig.fetch(phone)
        #expect(before.alerts == ["again"])
        try await rig.restart { try rig.removeStore() }
        #expect(try await rig.fetch(phone).alerts == ["again"])
        #expect(try await rig.poll(phone).body.contains("again"))
        try await rig.stop()
    }

    @Test func `a missing store is rebuilt from the logs`() async throws {
        let rig = try await CourierRig("keepPerUser: 3")
        try rig.register(mac)
        for number in 1...6 { try await rig.deliver(rig.push("\(number)", to: mac)) }
        _ = try rig.push("never accepted", to: mac)
        let before = try await rig.fetch(mac)
        try await rig.restart { try rig.removeStore() }
        #expect(try await rig.fetch(mac) == before)
        #expect(before.alerts == ["4", "5", "6"])
        try await rig.stop()
    }

    @Test(arguments: [false, true])
    func `a damaged store is set aside and rebuilt`(whileRunning: Bool) async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        for number in 1...50 { try await rig.deliver(rig.push("\(number)", to: mac)) }
        let before = try await rig.fetch(mac)
        try await rig.restart()
        if whileRunning {
            try rig.damageStore(from: 4096)
        } else {
            try await rig.restart { try rig.damageStore(from: 0) }
        }
        try await rig.deliver(rig.push("51", to: mac))
        #expect(try await rig.fetch(mac).alerts == before.alerts + ["51"])
        #expect(FileManager.default.fileExists(atPath: rig.storePath + ".damaged"))
        try await rig.stop()
    }

    @Test func `two fetches that find the same damage replace the store only once`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        try await rig.deliver(rig.push("1", to: mac))
        let queue = try rig.transport.storeQueue
        func pages() async throws -> PageReader { try #require(try await queue.ask { store, _ in store.store.pages }) }
        let damaged = try await pages()
        _ = try await queue.ask { try $0.replaceStore(of: damaged, $1) }
        let replacement = try await pages()
        #expect(replacement !== damaged)
        _ = try await queue.ask { try $0.replaceStore(of: damaged, $1) }
        #expect(try await pages() === replacement)
        #expect(try await rig.fetch(mac).alerts == ["1"])
        try await rig.stop()
    }

    @Test func `on a full disk, pushes are deferred, no notification is lost, and no poll is blocked`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        for number in 1...20 { try await rig.deliver(rig.push("\(number)", to: mac)) }
        try await rig.limitStore(pages: 0)
        let long = #"{"aps":{"alert":"\#(String(repeating: "x", count: 20_000))"},"ck":{}}"#
        let pushes = try rig.push("long", to: mac, unpruned: long)
        for _ in 0..<2 {
            let answers = await (try rig.transport).deliver(pushes)
            #expect(answers.map(\.outcome) == [.deferred] && answers.map(\.attempts) == [0])
            #expect(answers[0].reason?.contains("full") == true, "\(answers)")
            #expect(answers[0].until == rig.clock.withLock { $0.advanced(by: .seconds(1)) })
        }
        #expect(try await rig.fetch(mac).alerts.count == 20)
        #expect(try await rig.poll(mac).body.contains(#""alert":"1""#))
        try await rig.limitStore(pages: 1_000)
        #expect(try await rig.deliver(pushes).map(\.outcome) == [.accepted])
        #expect(try await rig.fetch(mac).ids.suffix(1) == ["n-long"])
        #expect(try await rig.fetch(mac).ids.count == 21)
        #expect(try await rig.poll(mac).body.contains(#""alert":"2""#))
        try await rig.stop()
    }

    @Test func `entries in a page, IDs in one request to mark as read, bodies and request targets have exact limits`()
        async throws
    {
        let rig = try await CourierRig("keepPerUser: 1000")
        try rig.register(mac)
        for part in 0..<2 {
            try await rig.deliver((0..<201).flatMap { try rig.push("\(part)-\($0)", to: mac) })
        }
        let (most, more) = try await (rig.fetch(mac, limit: 400), rig.fetch(mac, limit: 401))
        #expect(most.ids.count == CourierLimits.pageEntriesMax && most.moreComing && more.ids == most.ids)
        #expect(try await rig.fetch(mac, since: most.serverChangeToken).ids == ["n-1-199", "n-1-200"])
        let ids = (0..<CourierLimits.marksPerRequestMax + 1).map { "n-0-\($0)" }
        #expect(try await rig.markRead(Array(ids.dropLast()), mac).status == 200)
        #expect(try await rig.markRead(ids, mac).status == 400)
        for (length, status) in [(CourierLimits.bodyBytesMax, 200), (CourierLimits.bodyBytesMax + 1, 413)] {
            let body = #"{"notificationIDs":[]}"#
            let padded = body + String(repeating: " ", count: length - body.utf8.count)
            #expect(try await rig.send("/courier/\(mac.token)/read", "POST", body: padded).status == status)
        }
        for (length, status) in [(CourierLimits.targetBytesMax, 400), (CourierLimits.targetBytesMax + 1, 414)] {
            let path = "/courier/\(mac.token)/notifications?since="
            let target = path + String(repeating: "x", count: length - path.utf8.count)
            #expect(try await rig.send(target).status == status)
        }
        try await rig.stop()
    }

    @Test func `a change token beyond the newest one is refused as expired`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        try await rig.deliver(rig.push("a", to: mac))
        _ = try await rig.markRead(["n-a"], mac)
        let last = try #require(try await ChangeToken(rig.fetch(mac).serverChangeToken))
        #expect(last.push == 2 && last.mark == 1)
        for (push, mark) in [(3, 1), (2, 2), (Int64.max, Int64.max)] {
            let token = ChangeToken(log: last.log, push: push, mark: mark).text
            let reply = try await rig.send("/courier/\(mac.token)/notifications?since=\(token)")
            #expect(reply.status == 410 && reply.body.contains(#""token.expired""#), "\(reply.body)")
            #expect(reply.body.contains("is newer than the newest token of this log: fetch without since"))
        }
        #expect(try await rig.fetch(mac, since: last.text).ids.isEmpty)
        try await rig.stop()
    }

    @Test func `a change token stays valid after its notifications were removed`() async throws {
        let rig = try await CourierRig("keep: 1h")
        try rig.register(mac)
        try await rig.deliver(rig.push("a", to: mac))
        _ = try await rig.markRead(["n-a"], mac)
        let token = try await rig.fetch(mac).serverChangeToken
        rig.advanceClock(by: .seconds(4000))
        #expect(try await rig.fetch(mac, since: token).ids.isEmpty)
        try await rig.restart { try rig.removeStore() }
        #expect(try await rig.fetch(mac, since: token).ids.isEmpty)
        #expect(try await rig.fetch(mac).ids.isEmpty)
        try await rig.deliver(rig.push("b", to: mac))
        #expect(try await rig.fetch(mac, since: token).alerts == ["b"])
        try await rig.stop()
    }

    @Test func `without the log of pushes, a change token ahead of the store is expired`() async throws {
        let rig = try await CourierRig("keepPerUser: 1", hasPushesLog: false)
        let first = try rig.push("a", to: mac)
        try await rig.deliver(first + rig.push("b", to: mac))
        let token = try await rig.fetch(mac).serverChangeToken
        #expect(try await rig.fetch(mac, since: token).ids.isEmpty)
        try await rig.restart { try rig.removeStore() }
        try await rig.deliver(first)
        #expect(try await rig.send("/courier/\(mac.token)/notifications?since=\(token)").status == 410)
        #expect(try await rig.fetch(mac).alerts == ["a"])
        try await rig.stop()
    }

    @Test func `a change token of another pipeline is expired`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        let reply = try await rig.send("/courier/\(mac.token)/notifications?since=00ff-3-1")
        #expect(reply.status == 410)
        #expect(reply.body.contains("token.expired"))
        try await rig.stop()
    }
}
