import Events
import JSON
import PipelineKit
import PipelineRuntime

/// Compares the pushes of two worlds, whenever each of them comes.
///
/// A push is known by its notification, user, subscription and device. Its `apns-id` follows from its position in a log
/// and says nothing of its own.
final class PushComparison {
    private let focus: ReplayFocus?
    private var report = WhatIfReport()
    /// Pushes of one world that the other has not had yet.
    private var missing: [PushKey: [ComparedPush]] = [:]
    private var added: [PushKey: [ComparedPush]] = [:]

    /// - Parameter focus: What alone counts; nil: everything.
    init(_ focus: ReplayFocus? = nil) { self.focus = focus }

    /// Notices of retired devices are passed over.
    func compare(_ baseline: [Delivery], _ variant: [Delivery]) throws {
        try compareAll(baseline.filter(counts), variant.filter(counts))
    }

    private func counts(_ delivery: Delivery) -> Bool {
        delivery.id.retired == nil && focus?.concerns(delivery.line) ?? true
    }

    private func compareAll(_ baseline: [Delivery], _ variant: [Delivery]) throws {
        report.pushes += baseline.count
        if baseline.count == variant.count, zip(baseline, variant).allSatisfy({ $0.hasSameLine(as: $1) }) { return }
        for delivery in baseline { try take(delivery, from: &added, orKeepIn: &missing) { ($1, $0) } }
        for delivery in variant { try take(delivery, from: &missing, orKeepIn: &added) { ($0, $1) } }
    }

    private func take(
        _ delivery: Delivery, from others: inout [PushKey: [ComparedPush]],
        orKeepIn own: inout [PushKey: [ComparedPush]],
        order: (ComparedPush, ComparedPush) -> (ComparedPush, ComparedPush)
    ) throws {
        let push = try ComparedPush(delivery.line)
        guard var waiting = others[push.key], !waiting.isEmpty else { return own[push.key, default: []].append(push) }
        let other = waiting.removeFirst()
        others[push.key] = waiting.isEmpty ? nil : waiting
        let (baseline, variant) = order(other, push)
        let categories = baseline.differences(from: variant)
        if !categories.isEmpty { report.noteChange(of: baseline, to: variant, categories) }
    }

    /// What is left over on either side is gone, or new.
    func finish() -> WhatIfReport {
        for push in missing.values.joined() { report.noteRemoval(of: push) }
        for push in added.values.joined() { report.noteAddition(of: push) }
        (missing, added) = ([:], [:])
        return report
    }
}

/// What makes a push itself, in whichever world.
struct PushKey: Hashable {
    var notification: ExactText
    var user: ExactText
    var subscription: ExactText
    var device: ExactText
}

/// A push taken apart.
struct ComparedPush {
    let key: PushKey
    /// Sequences of the changes that it stands for.
    let causes: [UInt64]
    private let line: [UInt8]
    private let environment: String

    init(_ line: [UInt8]) throws {
        self.line = line
        var parser = JSONParser(limits: EventReader.linkLimits)
        (key, causes, environment) = try line.withUnsafeBytes { bytes in
            let push = try parser.parse(bytes)
            let key = PushKey(
                notification: push[.notificationID]?.exact ?? "", user: push[.user]?.exact ?? "",
                subscription: ComparedPush.subscription(of: push) ?? "", device: push[.device]?.exact ?? "")
            let causes = push[.causes].map { $0.elements.compactMap { $0.natural(.sequence) } } ?? []
            return (key, causes, push[.payload]?["ck"]?.text("cid") ?? "")
        }
    }

    /// `ck.qry.sid` and its like, whatever kind of notification it is.
    private static func subscription(of push: JSONValue) -> ExactText? {
        guard let ck = push[.payload]?["ck"] else { return nil }
        return ck.members.lazy.compactMap { $0.value["sid"]?.exact }.first
    }

    func differences(from other: ComparedPush) -> Set<WhatIfCategory> {
        var parser = JSONParser(limits: EventReader.linkLimits)
        var otherParser = JSONParser(limits: EventReader.linkLimits)
        return line.withUnsafeBytes { bytes in
            other.line.withUnsafeBytes { otherBytes in
                do throws(JSONError) {
                    return WhatIfCategory.all(try parser.parse(bytes), try otherParser.parse(otherBytes))
                } catch { return [.other] }
            }
        }
    }
}
