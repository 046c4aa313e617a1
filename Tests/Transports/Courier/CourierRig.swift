import EventLog
import Foundation
import GRDB
import JSON
import PipelineKit
import Synchronization
import TestSupport
import Testing
import Time

@testable import TransportCourier

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A courier, and the logs of a pipeline. The test writes these logs.
final class CourierRig: Sendable {
    let folder: Folder
    let settings: String
    let clock = Mutex(Instant(microseconds: 1_700_000_000_000_000))
    private let clockReads = Atomic(0)
    private let logs: Mutex<Logs>
    private let running = Mutex<CourierTransport?>(nil)

    struct Logs {
        let pushes: EventLogWriter
        let outcomes: EventLogWriter
    }

    /// - Parameter hasPushesLog: If false, the courier finds no log of pushes. The outcomes log exists in any case.
    init(_ settings: String = "", hasPushesLog: Bool = true) async throws {
        folder = try Folder()
        self.settings = "listen: 127.0.0.1:0\n" + settings
        let options = { [path = folder.path] name in EventLogOptions(directory: path, name: name, sync: .never) }
        logs = Mutex(
            Logs(
                pushes: try EventLogWriter(options(hasPushesLog ? "pushes" : "elsewhere")),
                outcomes: try EventLogWriter(options("outcomes"))))
        try await start()
    }

    var storePath: String { folder.file("outcomes/courier.sqlite") }

    var transport: CourierTransport {
        get throws { try #require(running.withLock { $0 }) }
    }

    func start() async throws {
        let settings = try SettingsReader(text: settings, file: "p.yaml").decode(CourierSettings.self)
        let context = TransportContext(
            name: "courier", folder: folder.file("outcomes"), inputLog: folder.file("pushes"), sync: .never,
            console: { _ in })
        let transport = CourierTransport(settings, context: context) {
            self.clockReads.add(1, ordering: .relaxed)
            return self.clock.withLock { $0 }
        }
        try await transport.open()
        running.withLock { $0 = transport }
    }

    func stop() async throws { await (try transport).close() }

    /// - Parameter change: Called while the courier is closed.
    func restart(_ change: () throws -> Void = {}) async throws {
        try await stop()
        try change()
        try await start()
    }

    func removeStore() throws {
        try FileManager.default.removeItem(atPath: storePath)
    }

    func advanceClock(by time: Duration) { clock.withLock { $0 = $0.advanced(by: time) } }

    // MARK: The pipeline

    func register(_ device: Device) throws {
        try append(
            #"{"type":"device.register",\#(device.account),"device":"\#(device.name)","#
                + #""transport":"\#(device.transport)","token":"\#(device.token)"}"#)
    }

    func unregister(_ device: Device) throws {
        try append(#"{"type":"device.unregister",\#(device.account),"device":"\#(device.name)"}"#)
    }

    /// Appends a push event. Returns the deliveries that the deliver stage would make from it.
    func push(
        _ text: String, to devices: Device..., unpruned: String? = nil, expiration: String? = nil
    ) throws -> [Delivery] {
        let payload = #"{"aps":{"alert":"\#(text)"},"ck":{"nid":"n-\#(text)"}}"#
        let headers = expiration.map { #""apns-expiration":"\#($0)""# } ?? ""
        let unprunedMember = unpruned.map { #","unpruned":\#($0)"# } ?? ""
        let sequence = try append(
            #"{"type":"push",\#(devices[0].account),"notificationID":"n-\#(text)","headers":{\#(headers)},"#
                + #""payload":\#(payload)\#(unprunedMember),"causes":[]}"#)
        return devices.map {
            $0.delivery(of: payload, "n-\(text)", push: sequence, unpruned: unpruned, headers: headers)
        }
    }

    /// Appends a `push.redrive` event. Returns the delivery that the deliver stage would make from it.
    func redrive(_ text: String, to device: Device) throws -> Delivery {
        let payload = #"{"aps":{"alert":"\#(text)"},"ck":{"nid":"n-\#(text)"}}"#
        let sequence = try append(
            #"{"type":"push.redrive",\#(device.account),"device":"\#(device.name)","#
                + #""redriveOf":{"log":"pushes","sequence":1},"push":{"type":"push",\#(device.account),"#
                + #""notificationID":"n-\#(text)","headers":{},"payload":\#(payload),"causes":[]}}"#)
        return device.delivery(of: payload, "n-\(text)", push: sequence, unpruned: nil)
    }

    @discardableResult
    private func append(_ line: String) throws -> UInt64 {
        try logs.withLock { try $0.pushes.append(line, now: clock.withLock { $0 }) }
    }

    /// Delivers pushes, and records their outcomes.
    @discardableResult
    func deliver(_ pushes: [Delivery]) async throws -> [TransportAnswer] {
        let answers = await (try transport).deliver(pushes)
        for (push, answer) in zip(pushes, answers) {
            let line =
                #"{"type":"outcome","push":\#(push.id.push),"device":"\#(push.id.device)","#
                + #""apns-id":"\#(push.apnsID)","outcome":"\#(answer.outcome.rawValue)"}"#
            _ = try logs.withLock { try $0.outcomes.append(line, now: clock.withLock { $0 }) }
        }
        return answers
    }

    // MARK: Clients

    func send(
        _ path: String, _ method: String = "GET", body: String? = nil, headers: [String: String] = [:]
    ) async throws -> Reply {
        let port = try #require(try transport.port)
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        let http = try #require(response as? HTTPURLResponse)
        return Reply(status: http.statusCode, body: String(decoding: data, as: UTF8.self), http: http)
    }

    func poll(_ device: Device) async throws -> Reply { try await send("/courier/\(device.token)") }

    func fetch(_ device: Device, since: String = "", limit: Int = 100) async throws -> Page {
        let reply = try await send("/courier/\(device.token)/notifications?since=\(since)&limit=\(limit)")
        #expect(reply.status == 200, "\(reply.body)")
        return try JSONDecoder().decode(Page.self, from: Data(reply.body.utf8))
    }

    func markRead(_ ids: [String], _ device: Device) async throws -> Reply {
        let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
        return try await send("/courier/\(device.token)/read", "POST", body: #"{"notificationIDs":[\#(list)]}"#)
    }
}

struct Reply: Sendable {
    let status: Int
    let body: String
    let http: HTTPURLResponse
}

struct Page: Decodable, Equatable {
    struct Entry: Decodable, Equatable {
        struct Payload: Decodable, Equatable {
            struct APS: Decodable, Equatable { let alert: String }
            let aps: APS
        }
        let notificationID: String
        let isRead: Bool
        let payload: Payload
    }
    let notifications: [Entry]
    let serverChangeToken: String
    let moreComing: Bool

    var ids: [String] { notifications.map(\.notificationID) }
    var alerts: [String] { notifications.map(\.payload.aps.alert) }
}

struct Device: Sendable {
    let name: String
    var user = "_alice"
    var transport = "courier"
    var token: String

    init(_ name: String, of user: String = "_alice") {
        self.name = name
        self.user = user
        let digits = (user + "/" + name).utf8.map { String($0, radix: 16) }.joined()
        token = String((digits + String(repeating: "0", count: 64)).prefix(64))
    }

    var account: String { #""container":"iCloud.com.example.Notes","environment":"development","user":"\#(user)""# }

    func delivery(
        of payload: String, _ notificationID: String, push: UInt64, unpruned: String?, headers: String = ""
    ) -> Delivery {
        let more = headers.isEmpty ? "" : "," + headers
        let line =
            #"{"notificationID":"\#(notificationID)","user":"\#(user)","device":"\#(name)","transport":"courier","#
            + #""token":"\#(token)","headers":{"apns-id":"\#(push)-\#(name)"\#(more)},"payload":\#(payload),"causes":[]}"#
        return Delivery(
            id: .init(push: push, device: name), transport: "courier",
            app: .init(container: "iCloud.com.example.Notes", environment: "development", topic: nil),
            head: Array(line.utf8), rest: [], unpruned: unpruned.map { Array($0.utf8) })
    }
}

extension Delivery {
    fileprivate var apnsID: String { "\(id.push)-\(id.device)" }
}

extension EventLogWriter {
    fileprivate func append(_ line: String, now: Instant) throws -> UInt64 {
        var bytes = ByteBuffer()
        bytes.append(raw: line + "\n")
        return try append(bytes.bytes, count: 1, now: now)
    }
}

extension CourierRig {
    /// Returns when `count` polls wait.
    func waitForPolls(_ count: Int) async throws {
        while try await transport.storeQueue.ask({ store, _ in store.waiting.count }) != count { await Task.yield() }
    }

    /// Returns when the courier has read the clock `count` more times. A poll reads the clock when it begins, and at
    /// each retry while its token is unknown.
    func waitForClockReads(_ count: Int) async {
        let start = clockReads.load(ordering: .relaxed)
        while clockReads.load(ordering: .relaxed) < start + count { await Task.yield() }
    }

    /// Limits the store to its current number of pages plus `pages`.
    func limitStore(pages: Int) async throws {
        try await transport.storeQueue.ask { courierStore, _ in
            try courierStore.store.pool.writeWithoutTransaction { db in
                let count = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(count + pages)")
            }
        }
    }

    /// Overwrites the bytes of the store's file from an offset to the end.
    func damageStore(from offset: UInt64) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: storePath))
        let size = try file.seekToEnd()
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data(repeating: 0xA5, count: Int(size - offset)))
        try file.close()
    }
}
