import Events
import JSON
import PipelineKit
import PipelineRuntime

/// Compares the pushes of the baseline with the pushes of the variant. Equal pushes may come at different times.
///
/// A push is identified by its notification, user, subscription and device. Its `apns-id` is not compared: it only
/// depends on the push's position in a log.
final class PushComparison {
    private let focus: ReplayFocus?
    private var report = WhatIfReport()
    /// Pushes of the baseline that the variant does not have yet.
    private var missing: [PushKey: [ComparedPush]] = [:]
    /// Pushes of the variant that the baseline does not have yet.
    private var added: [PushKey: [ComparedPush]] = [:]

    /// - Parameter focus: Compares only pushes about this subject; nil compares every push.
    init(_ focus: ReplayFocus? = nil) { self.focus = focus }

    /// Skips notices of retired devices, and pushes that are not about the focus.
    func compare(_ baseline: [Delivery], _ variant: [Delivery]) throws {
        try compareAll(baseline.filter(isCompared), variant.filter(isCompared))
    }

    private func isCompared(_ delivery: Delivery) -> Bool {
        delivery.id.retired == nil && focus?.concerns(delivery.line) ?? true
    }

    private func compareAll(_ baseline: [Delivery], _ variant: [Delivery]) throws {
        report.pushes += baseline.count
        if baseline.count == variant.count, zip(baseline, variant).allSatisfy({ $0.hasSameLine(as: $1) }) { return }
        for delivery in baseline { try pair(delivery, with: &added, orKeepIn: &missing) { ($1, $0) } }
        for delivery in variant { try pair(delivery, with: &missing, orKeepIn: &added) { ($0, $1) } }
    }

    private func pair(
        _ delivery: Delivery, with others: inout [PushKey: [ComparedPush]],
        orKeepIn own: inout [PushKey: [ComparedPush]],
        order: (ComparedPush, ComparedPush) -> (ComparedPush, ComparedPush)
    ) throws {
        let push = try ComparedPush(delivery.line)
        guard var waiting = others[push.key], !waiting.isEmpty else { return own[push.key, default: []].append(push) }
        let other = waiting.removeFirst()
        others[push.key] = waiting.isEmpty ? nil : waiting
        let (baseline, variant) = order(other, push)
        let categories = baseline.differences(from: variant)
        if !categories.isEmpty { report.noteChange(of: baseline, in: categories) }
    }

    /// The report. A push of the baseline that the variant lacks counts as removed. A push of the variant that the
    /// baseline lacks counts as added.
    func finish() -> WhatIfReport {
        for push in missing.values.joined() { report.noteRemoval(of: push) }
        for push in added.values.joined() { report.noteAddition(of: push) }
        return report
    }
}

/// Identifies a push in the baseline and in the variant.
struct PushKey: Hashable {
    var notification: ExactText
    var user: ExactText
    var subscription: ExactText
    var device: ExactText
}

/// A parsed push.
struct ComparedPush {
    let key: PushKey
    /// Sequences of the changes that led to the push.
    let causes: [UInt64]
    private let line: [UInt8]

    init(_ line: [UInt8]) throws {
        self.line = line
        var parser = JSONParser(limits: EventReader.linkLimits)
        (key, causes) = try line.withUnsafeBytes { bytes in
            let push = try parser.parse(bytes)
            let key = PushKey(
                notification: push[.notificationID]?.exact ?? "", user: push[.user]?.exact ?? "",
                subscription: ComparedPush.subscription(of: push) ?? "", device: push[.device]?.exact ?? "")
            let causes = push[.causes].map { $0.elements.compactMap { $0.natural(.sequence) } } ?? []
            return (key, causes)
        }
    }

    /// The subscription's ID. Its place depends on the kind of notification: a query notification has the ID in
    /// `ck.qry.sid`.
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
                    return WhatIfCategory.differing(try parser.parse(bytes), try otherParser.parse(otherBytes))
                } catch { return [.other] }
            }
        }
    }
}
