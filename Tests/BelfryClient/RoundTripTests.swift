import BelfryClient
import BelfryTestKit
import PipelineTestKit
import TestSupport
import Testing

/// A pipeline makes pushes for random subscriptions and records, and the client reads these pushes.
@Suite struct RoundTripTests {
    @Test(arguments: Seeded.seeds)
    func `the client reads what the subscription asked for, or the push is pruned`(seed: UInt64) async throws {
        var random = Seeded(seed)
        let belfry = try await TestPipeline.start(yaml: yaml)
        let cases = (0..<60).map { RoundTripCase($0, using: &random) }
        let admission = try await belfry.send(try cases.flatMap { try $0.commands })
        #expect(admission.refusals == [], "seed \(seed)")
        try await belfry.advance(by: .seconds(60))
        let pushes = Dictionary(grouping: try belfry.pushes.map(Push.init), by: \.user)
        try await belfry.stop()
        for roundTrip in cases {
            let received = pushes[roundTrip.user.recordName] ?? []
            #expect(received.count == 1, "seed \(seed), \(roundTrip.user.recordName)")
            for push in received { roundTrip.expect(push.notification, seed) }
        }
        let pruned = pushes.values.joined().filter { $0.notification?.isPruned == true }.count
        #expect(pruned > 3 && pruned < 57, "seed \(seed): \(pruned) of 60")
    }
}

private struct Push {
    let user: String
    let notification: CKNotification?

    init(_ line: String) throws {
        let json = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        user = json?["user"] as? String ?? ""
        notification = (json?["payload"] as? [String: Any]).flatMap {
            CKNotification(fromRemoteNotificationDictionary: $0)
        }
    }
}

/// One user, one subscription and one change.
private struct RoundTripCase {
    let user: BelfryUser
    let scope: CKDatabase.Scope
    let subscription: CKSubscription
    let record: DrawnRecord
    let reason: CKQueryNotification.Reason

    init(_ number: Int, using random: inout Seeded) {
        user = BelfryUser("_user\(number)", container: "iCloud.com.example.Notes", environment: .development)
        record = DrawnRecord(number, using: &random)
        reason = random.one(of: [.recordCreated, .recordUpdated, .recordDeleted])
        (subscription, scope) = RoundTripCase.subscription(to: record, of: user, using: &random)
        if !random.isOneIn(10) { subscription.notificationInfo = DrawnInfo.draw(using: &random) }
    }

    private static func subscription(
        to record: DrawnRecord, of user: BelfryUser, using random: inout Seeded
    ) -> (CKSubscription, CKDatabase.Scope) {
        let id = "subscription of \(user.recordName)"
        switch random.below(5) {
        case 0: return (CKDatabaseSubscription(subscriptionID: id), random.one(of: [.private, .shared]))
        case 1: return (CKRecordZoneSubscription(zoneID: record.zoneID, subscriptionID: id), .private)
        default:
            let query = CKQuerySubscription(
                recordType: record.type, predicate: NSPredicate(format: "%K == %@", "n", record.number),
                subscriptionID: id, options: [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion])
            let scope: CKDatabase.Scope = random.one(of: [.public, .private, .private])
            if scope == .private, random.isOneIn(2) { query.zoneID = record.zoneID }
            return (query, scope)
        }
    }

    var commands: [String] {
        get throws {
            let names = #""container":"\#(user.container)","environment":"\#(user.environment)""#
            let owner = scope == .public ? "" : #","owner":"\#(user.recordName)""#
            let change = #"{"type":"\#(reason == .recordDeleted ? "record.delete" : "record.save")",\#(names),"#
            let before = reason == .recordDeleted ? ",\"before\":\(record.fieldsJSON)" : ""
            let kindOfChange = reason == .recordUpdated ? #","change":"update""# : ""
            let json = record.json(in: scope, of: user.recordName, isDeleted: reason == .recordDeleted)
            return [
                #"{"type":"device.register",\#(names),"user":"\#(user.recordName)","device":"phone","transport":"#
                    + #""apns","token":"\#(user.recordName)","topic":"com.example.Notes"}"#,
                try user.command(saving: subscription, in: scope),
                change + #""database":"\#(scope)"\#(owner)\#(kindOfChange)\#(before),"record":\#(json)}"#,
            ]
        }
    }
}

// MARK: - What the client must read

extension RoundTripCase {
    func expect(_ notification: CKNotification?, _ seed: UInt64) {
        let label: Comment = "seed \(seed), \(user.recordName)"
        guard let notification else {
            Issue.record(label)
            return
        }
        #expect(notification.notificationID != nil && notification.subscriptionID == subscription.subscriptionID, label)
        let check = ValueCheck(notification, label)
        check.expect(notification.subscriptionOwnerUserRecordID, CKRecord.ID(recordName: user.recordName))
        if !notification.isPruned { #expect(notification.containerIdentifier == user.container, label) }
        expectKind(notification, check)
        expectAlert(notification, subscription.notificationInfo ?? CKSubscription.NotificationInfo(), check)
    }

    private func expectKind(_ notification: CKNotification, _ check: ValueCheck) {
        switch subscription {
        case is CKDatabaseSubscription:
            #expect((notification as? CKDatabaseNotification)?.databaseScope == scope, check.label)
        case is CKRecordZoneSubscription:
            let notification = notification as? CKRecordZoneNotification
            #expect(notification?.databaseScope == scope, check.label)
            check.expect(notification?.recordZoneID, record.pushedZoneID(in: scope, of: user.recordName))
        default: expectQuery(notification as? CKQueryNotification, check)
        }
    }

    private func expectQuery(_ notification: CKQueryNotification?, _ check: ValueCheck) {
        guard let notification else {
            Issue.record(check.label)
            return
        }
        #expect(notification.databaseScope == scope, check.label)
        let zoneID = record.pushedZoneID(in: scope, of: user.recordName)
        check.expect(notification.recordID, CKRecord.ID(recordName: record.name, zoneID: zoneID))
        if notification.recordID != nil || !notification.isPruned {
            #expect(notification.queryNotificationReason == reason || notification.isPruned, check.label)
        }
        let fields = notification.recordFields ?? [:]
        let desired = reason == .recordDeleted ? [] : subscription.notificationInfo?.desiredKeys ?? []
        for key in desired {
            let text = fields[key] as? String
            check.expect(text, record.fields[key]?.desiredText)
            if text == nil { check.expect(fields[key] as? NSObject, record.fields[key]?.desired) }
            if fields[key] == nil { #expect(record.fields[key] == nil || notification.isPruned, check.label) }
        }
        #expect(Set(fields.keys).isSubset(of: desired), check.label)
    }

    private func expectAlert(
        _ notification: CKNotification, _ info: CKSubscription.NotificationInfo, _ check: ValueCheck
    ) {
        check.expect(notification.alertBody, info.alertLocalizationKey == nil ? info.alertBody : nil)
        check.expect(notification.alertLocalizationKey, info.alertLocalizationKey)
        check.expect(
            notification.alertLocalizationArgs, arguments(info.alertLocalizationArgs, info.alertLocalizationKey))
        check.expect(notification.title, info.titleLocalizationKey == nil ? info.title : nil)
        check.expect(notification.titleLocalizationKey, info.titleLocalizationKey)
        check.expect(
            notification.titleLocalizationArgs, arguments(info.titleLocalizationArgs, info.titleLocalizationKey))
        check.expect(notification.subtitle, info.subtitleLocalizationKey == nil ? info.subtitle : nil)
        check.expect(notification.subtitleLocalizationKey, info.subtitleLocalizationKey)
        check.expect(
            notification.subtitleLocalizationArgs,
            arguments(info.subtitleLocalizationArgs, info.subtitleLocalizationKey))
        expectWhole(notification.alertLocalizationArgs, of: info.alertLocalizationArgs, check)
        expectWhole(notification.titleLocalizationArgs, of: info.titleLocalizationArgs, check)
        expectWhole(notification.subtitleLocalizationArgs, of: info.subtitleLocalizationArgs, check)
        check.expect(notification.alertActionLocalizationKey, info.alertActionLocalizationKey)
        check.expect(notification.alertLaunchImage, info.alertLaunchImage)
        check.expect(notification.soundName, info.soundName)
        check.expect(notification.category, info.category)
        check.expect(notification.badge, info.shouldBadge ? 1 : nil)
    }

    private func arguments(_ names: [CKRecord.FieldKey]?, _ key: String?) -> [String]? {
        guard key != nil, let names, !names.isEmpty else { return nil }
        return names.map { record.fields[$0]?.argument ?? "" }
    }

    /// Expects that an argument is empty only if the record lacks the field, or the notification is pruned.
    private func expectWhole(_ arguments: [String]?, of names: [CKRecord.FieldKey]?, _ check: ValueCheck) {
        for (argument, name) in zip(arguments ?? [], names ?? []) where argument.isEmpty {
            #expect(record.fields[name] == nil || check.isPruned, check.label)
        }
    }
}

/// Compares the values of a notification with the expected values.
private struct ValueCheck {
    let isPruned: Bool
    let label: Comment

    init(_ notification: CKNotification, _ label: Comment) { (isPruned, self.label) = (notification.isPruned, label) }

    /// Expects the value. A pruned notification may lack the value.
    func expect<Value: Equatable>(
        _ read: Value?, _ expected: Value?, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        if read == nil, isPruned { return }
        #expect(read == expected, label, sourceLocation: sourceLocation)
    }
}
