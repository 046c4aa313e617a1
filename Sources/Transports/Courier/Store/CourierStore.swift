import EventLog
import Foundation
import GRDB
import PipelineKit
import Time

/// Where the courier's files are, how they are written, and which notifications are kept.
struct CourierStorePlan: Sendable {
    var transport: String
    /// The SQLite file.
    var store: String
    /// The folder of the stage's own log; nil if it is unknown.
    var outcomes: String?
    /// The folder of the log that pushes come from; nil if it is unknown.
    var pushes: String?
    var sync: SyncPolicy
    /// Where the log of marks is kept besides the local files; nil for local files alone.
    var home: (any LogHome)?
    var mode: DataMode
    var keep: Duration
    var keepPerUser: Int
    var warn: @Sendable (String) -> Void

    /// The name that the log of marks has in its home. It begins with the name of the stage's own log, because two
    /// stages may have couriers with the same name.
    var marksInHome: String {
        let log = outcomes.map { ($0 as NSString).lastPathComponent }
        return [log, transport, "marks"].compactMap(\.self).joined(separator: ".")
    }
}

/// The courier's state: the store, the log of marks, and the waiting polls. Only one thread may use it at a time.
///
/// A mark is written to its log first, and then to the store. The client gets its answer after that, even if only the
/// log could be written. If the store lags behind, for example after a crash, the next use of the store first applies
/// the marks that are only in the log.
final class CourierStore {
    private static let trimInterval = Duration.seconds(60)

    private let plan: CourierStorePlan
    private(set) var store: InboxStore
    private let marks: MarksLog
    /// Nil while there is no log of pushes on this machine. Also nil after an error, until the log is opened again.
    private var devices: DeviceLog?
    /// The device changes in the log of pushes were applied up to this event.
    private var devicesKnownUpTo: Int64 = 0
    private(set) var waiting = WaitingPolls()
    private var nextTrim = Instant.epoch

    init(_ plan: CourierStorePlan, now: Instant) throws {
        self.plan = plan
        marks = try MarksLog(plan)
        let opened = try InboxStore.open(plan.store, isDurable: plan.sync != .never, mode: plan.mode)
        self.store = opened.store
        if let aside = opened.setAside { warn(setAside: aside) }
        do { try catchUp(now) } catch let error where error.isDamage { try replaceStore(now) }
        try trim(now)
    }

    // MARK: The store and the logs

    private func write<Value>(now: Instant, _ body: (InboxTables) throws -> Value) throws -> Value {
        do {
            return try store.pool.write { try body(InboxTables(db: $0)) }
        } catch let error where error.isDamage {
            try replaceStore(now)
            return try store.pool.write { try body(InboxTables(db: $0)) }
        }
    }

    /// Replaces the damaged store that `pages` reads, unless it was replaced already.
    func replaceStore(of pages: PageReader, _ now: Instant) throws {
        if pages === store.pages { try replaceStore(now) }
    }

    /// Sets the damaged store aside, and rebuilds it.
    private func replaceStore(_ now: Instant) throws {
        warn(setAside: try store.setAside())
        store = try InboxStore.open(plan.store, isDurable: plan.sync != .never, mode: plan.mode).store
        devices = nil
        try catchUp(now)
    }

    private func warn(setAside file: String) {
        plan.warn(
            "\(plan.store) is damaged or of another version: the courier moved it to \(file) and builds a new one")
    }

    /// Applies the device changes and marks that are in the logs but not in the store. First rebuilds a store that
    /// is new or was built from another log.
    private func catchUp(_ now: Instant) throws {
        if devices == nil { try openDevices(now) }
        do { try applyDeviceChanges() } catch {
            devices = nil
            throw error
        }
        guard try store.pool.read({ try InboxTables(db: $0).position(.marks) }) < marks.last else { return }
        try applyMarks()
    }

    private func openDevices(_ now: Instant) throws {
        guard let pushes = plan.pushes, try areLogsFilled else { return }
        let (known, last) = try store.pool.read { db in
            (try InboxTables(db: db).text(.log), try InboxTables(db: db).position(.devices))
        }
        devicesKnownUpTo = last
        guard let log = try DeviceLog(directory: pushes, transport: plan.transport, after: last) else { return }
        if known == log.identity {
            devices = log
            return
        }
        if known != nil { try startOver() }
        try rebuild(from: pushes, log.identity, now)
        devices = try DeviceLog(directory: pushes, transport: plan.transport, after: devicesKnownUpTo)
    }

    /// False on a machine whose logs are still being filled from their home: a store that is built from a part of them
    /// would lack the other notifications.
    private var areLogsFilled: Bool {
        get throws {
            guard plan.home != nil else { return true }
            return try [plan.pushes, plan.outcomes].compactMap(\.self).allSatisfy {
                try EventLogs.positionInHome(directory: $0) != nil
            }
        }
    }

    /// Sets the store aside and opens an empty one, because its content came from another log.
    private func startOver() throws {
        _ = try store.setAside()
        store = try InboxStore.open(plan.store, isDurable: plan.sync != .never, mode: plan.mode).store
    }

    private func rebuild(from pushes: String, _ identity: String, _ now: Instant) throws {
        devicesKnownUpTo = try store.pool.write { [plan] db in
            let tables = InboxTables(db: db)
            let rebuild = Rebuild(
                tables: tables, transport: plan.transport, oldest: now.advanced(by: .zero - plan.keep))
            let last = try rebuild.run(pushes: pushes, outcomes: plan.outcomes)
            try tables.trimAll(to: plan.keepPerUser)
            try tables.set(.log, identity)
            try tables.set(.devices, last)
            try tables.set(.marks, 0)
            return last
        }
        try applyMarks()
    }

    private func applyDeviceChanges() throws {
        guard let log = devices else { return }
        while case let changes = try log.readChanges(), !changes.isEmpty {
            try store.pool.write { db in
                let tables = InboxTables(db: db)
                for change in changes { try change.apply(to: tables, transport: plan.transport) }
                try tables.set(.devices, log.last)
            }
        }
        devicesKnownUpTo = log.last
    }

    private func applyMarks() throws {
        try store.pool.write { db in
            let tables = InboxTables(db: db)
            try marks.read(after: tables.position(.marks)) { number, mark in try tables.apply(mark, number) }
            try tables.set(.marks, marks.last)
        }
    }

    private func trim(_ now: Instant) throws {
        guard now >= nextTrim else { return }
        nextTrim = now.advanced(by: Self.trimInterval)
        let oldest = now.advanced(by: .zero - plan.keep)
        try write(now: now) { try $0.trim(before: oldest.microseconds) }
        try marks.trim(before: oldest)
    }

    // MARK: Pushes

    /// Returns once the pushes are in the store and the waiting polls are answered.
    func accept(_ pushes: [CourierPush], now: Instant) throws {
        try catchUp(now)
        let devicesKnownUpTo = devices == nil ? 0 : devicesKnownUpTo
        let late = try write(now: now) { tables in
            var late: [MarksLog.Mark] = []
            for push in pushes where try tables.add(push, now, learnsOwner: push.id.push > UInt64(devicesKnownUpTo)) {
                late.append(.late(push: Int64(push.id.push)))
            }
            for account in Set(pushes.map(\.account)) { try tables.trim(tables.account(account), to: plan.keepPerUser) }
            return late
        }
        try recordMarks(late, now)
        try trim(now)
        answerPolls(of: Set(pushes.map(\.token)), now)
    }

    // MARK: Polls

    func begin(_ poll: Poll, now: Instant) {
        guard !waiting.isFull else { return poll.end(.tooMany) }
        do {
            try catchUp(now)
            guard try devices == nil || owner(of: poll.token) != nil else { return poll.end(.unknownToken) }
            waiting.add(poll)?.end(.nothing)
            answerPolls(of: [poll.token], now)
        } catch {
            poll.end(.failed("\(error)"))
        }
    }

    func end(_ poll: Poll) {
        if waiting.remove(poll) { poll.end(.nothing) }
    }

    /// Ends all polls without a notification, and closes the store.
    func close() {
        for poll in waiting.takeAll() { poll.end(.nothing) }
        do { try store.close() } catch {
            plan.warn("\(plan.store): \(error)")
        }
    }

    /// Answers the waiting polls of these tokens, as far as their devices have notifications.
    private func answerPolls(of tokens: Set<CourierToken>, _ now: Instant) {
        let asked = tokens.filter { !waiting[$0].isEmpty }
        guard !asked.isEmpty else { return }
        do {
            let found = try asked.map { ($0, try nextPushes(for: $0, now)) }
            try recordMarks(found.flatMap { $0.1.map { .taken(apnsID: $0.apnsID) } }, now)
            for (token, payloads) in found {
                for (poll, found) in zip(waiting.takeFirst(payloads.count, of: token), payloads) {
                    poll.end(.notification(found.payload))
                }
            }
        } catch {
            for poll in asked.flatMap({ waiting.takeFirst(.max, of: $0) }) { poll.end(.failed("\(error)")) }
        }
    }

    private func nextPushes(for token: CourierToken, _ now: Instant) throws -> [(apnsID: String, payload: Data)] {
        try store.pool.read { db in
            let tables = InboxTables(db: db)
            guard let owner = try tables.owner(of: token) else { return [] }
            return try tables.next(for: owner.device, limit: waiting[token].count, at: now)
        }
    }

    /// Writes marks to their log, and then to the store. If the store cannot be written now, ``catchUp(_:)`` does
    /// so later.
    private func recordMarks(_ new: [MarksLog.Mark], _ now: Instant, isDurable: Bool = false) throws {
        guard !new.isEmpty else { return }
        let first = marks.last + 1
        try marks.append(new, now: now, isDurable: isDurable)
        do {
            try write(now: now) { tables in
                for (index, mark) in new.enumerated() { try tables.apply(mark, first + Int64(index)) }
                try tables.set(.marks, marks.last)
            }
        } catch {
            plan.warn("cannot write \(plan.store): \(error); it will be updated from the log of marks")
        }
    }

    // MARK: Inboxes

    /// The inbox of a token's user.
    struct Inbox: Sendable {
        let account: Int64
        /// The change token after the newest entry.
        let end: ChangeToken
        let pages: PageReader
    }

    /// - Returns: Nil if the token is unknown.
    func inbox(of token: CourierToken, now: Instant) throws -> Inbox? {
        try catchUp(now)
        guard let owner = try owner(of: token) else { return nil }
        return Inbox(account: owner.account, end: try end(of: owner.account), pages: store.pages)
    }

    /// The change token after the newest entry. The token's `push` is the greater of two positions: the end of the log
    /// of pushes, and the last push that the store knows. The token's `mark` is chosen in the same way from the log of
    /// marks and the store. One position is not enough: a rebuilt store lacks the notifications that were trimmed
    /// earlier, and the logs may be missing or may have lost their end in a power failure.
    private func end(of account: Int64) throws -> ChangeToken {
        let stored = try store.pool.read { try InboxTables(db: $0).last(of: account) }
        let pushes = devices.map(\.last) ?? 0
        return ChangeToken(
            log: devices?.identity ?? "0", push: max(pushes, stored.push), mark: max(marks.last, stored.mark))
    }

    /// - Returns: The IDs that are not in the inbox; nil if the token is unknown.
    func markRead(_ ids: [String], token: CourierToken, now: Instant) throws -> [String]? {
        try catchUp(now)
        guard let owner = try owner(of: token) else { return nil }
        let found = try store.pool.read { db in
            try ids.map { ($0, try InboxTables(db: db).pushes(of: $0, in: owner.account)) }
        }
        let unread = Set(found.flatMap(\.1).filter { !$0.isRead }.map(\.push)).sorted()
        try recordMarks(unread.map { .read(push: $0) }, now, isDurable: true)
        return found.filter(\.1.isEmpty).map(\.0)
    }

    private func owner(of token: CourierToken) throws -> (device: Int64, account: Int64)? {
        try store.pool.read { try InboxTables(db: $0).owner(of: token) }
    }
}

extension InboxTables {
    fileprivate func apply(_ mark: MarksLog.Mark, _ number: Int64) throws {
        switch mark {
        case .taken(let id): try markTaken(apnsID: id)
        case .read(let push): try markRead(push: push, mark: number)
        case .late(let push): try markLate(push: push, mark: number)
        }
    }

    /// - Parameter learnsOwner: Whether to learn the token's owner from the push, because its registration is not
    ///   known yet.
    /// - Returns: Whether the push is late.
    fileprivate func add(_ push: CourierPush, _ now: Instant, learnsOwner: Bool) throws -> Bool {
        if learnsOwner { try register(push.token, topic: nil, device: push.id.device, of: push.account) }
        let (account, number) = (try self.account(push.account), Int64(push.id.push))
        guard try !wasRemoved(push: number, from: account) else { return false }
        let body = try add(
            push: number, id: push.notificationID, body: push.unprunedPayload ?? push.payload, to: account,
            time: now, push.expiration)
        try add(
            push: number, to: device(push.id.device, of: account), apnsID: push.apnsID,
            payload: push.payload == body ? nil : push.payload)
        return try isLate(push: number, in: account)
    }
}
