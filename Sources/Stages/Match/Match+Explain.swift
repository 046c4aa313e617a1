import Events
import JSON
import PipelineKit
import Predicates
import Time

extension MatchStage {
    /// Explains for each subscription of the subject whether it watches a change, and gives the results of the checks.
    ///
    /// The subscriptions are in the order in which they were saved.
    package func explain(
        _ event: borrowing InputEvent, at now: Instant, for subject: ExplainedSubject
    ) -> [Explanation] {
        let isDelete = event.isOfType(EventName.recordDelete)
        guard isDelete || event.isOfType(EventName.recordSave) else { return [] }
        do throws(Rejection) {
            let change = try Change(event, isDelete: isDelete, at: now)
            return index.savedOrder.filter { index.fits($0.slot, subject) }.map { found in
                index.store.withSubscription(found.slot, settings) {
                    ChangeCheck(change, $0, found.savedAt, settings).explanation
                }
            }
        } catch {
            return [
                Explanation(
                    MatchStage.kind, .changeRefused, "match cannot use the change: \(error.reason)",
                    [.init("reason", error.code), .init("path", error.path)])
            ]
        }
    }
}

extension SubscriptionIndex {
    fileprivate func fits(_ slot: Int32, _ subject: ExplainedSubject) -> Bool {
        func isSame(_ text: String?, _ other: [UInt8]) -> Bool { text.map { $0.utf8.elementsEqual(other) } ?? true }
        guard unsafe isSame(subject.user, store.user(slot).utf8),
            unsafe isSame(subject.subscriptionID, store.id(slot).utf8)
        else {
            return false
        }
        guard subject.container != nil || subject.environment != nil else { return true }
        return store.withSubscription(slot) {
            isSame(subject.container, $0.identity.container.utf8)
                && isSame(subject.environment, $0.identity.environment.utf8)
        }
    }
}

/// Explains the checks of a change against a subscription.
private struct ChangeCheck: ~Escapable {
    let change: Change
    let subscription: Subscription
    let savedAt: UInt64
    let settings: MatchSettings

    @_lifetime(copy change)
    init(_ change: Change, _ subscription: Subscription, _ savedAt: UInt64, _ settings: MatchSettings) {
        self.change = change
        (self.subscription, self.savedAt, self.settings) = (subscription, savedAt, settings)
    }

    /// The result of all checks. If the container, environment, database or owner differs, no other check is made.
    var explanation: Explanation {
        let parts = scope.code == .scopeSame ? [scope, zone, recordType, firesOn] + predicate : [scope]
        let isMatch = parts.allSatisfy { $0.code.effect == .allowsPush }
        let name = "\"\(subscription.identity.subscriptionID.text)\""
        let user = subscription.identity.user.text
        let failed = parts.first { $0.code.effect != .allowsPush }
        return Explanation(
            MatchStage.kind, isMatch ? .subscriptionMatched : .subscriptionNotMatched,
            failed.map { "\(name) of \(user) does not watch the change: \($0.text)" }
                ?? "\(name) of \(user) watches the change",
            [
                .init(Member.subscriptionID.description, subscription.identity.subscriptionID.text),
                .init(Member.user.description, user),
                .init("container", subscription.identity.container.text),
                .init("environment", subscription.identity.environment.text),
                .init("database", "\(subscription.identity.database.word)"),
                .init("subscriptionType", "\(subscription.subscriptionType.word)"), .init("saved", savedAt),
            ] + (subscription.firesOnce ? [.init("firesOnce", true)] : []),
            parts: parts)
    }

    private func part(_ code: ExplanationCode, _ text: String, _ details: [Explanation.Detail] = []) -> Explanation {
        Explanation(MatchStage.kind, code, text, details)
    }
}

// MARK: - Scope, zone, type and reason

extension ChangeCheck {
    private var scope: Explanation {
        let identity = subscription.identity
        if identity.container.utf8 != change.container.utf8 {
            return part(.containerDiffers, differing(change.container, identity.container))
        }
        if identity.environment.utf8 != change.environment.utf8 {
            return part(.environmentDiffers, differing(change.environment, identity.environment))
        }
        if identity.database != change.database {
            return part(
                .databaseDiffers,
                "the change is in the \(change.database.word) database, the subscription watches the "
                    + "\(identity.database.word) database")
        }
        if let owner = change.owner, owner.utf8 != identity.user.utf8 {
            return part(
                .ownerDiffers, "the \(change.database.word) database belongs to \(owner.text)",
                [.init("owner", owner.text)])
        }
        return part(.scopeSame, "the subscription watches the \(change.database.word) database")
    }

    private func differing(_ place: JSONValue, _ watched: JSONValue) -> String {
        "the change is in \(place.text), the subscription is in \(watched.text)"
    }

    private var zone: Explanation {
        let name = change.zone.name?.text ?? SubscriptionReader.defaultZone.text
        if subscription.subscriptionType == .database {
            return name.utf8.elementsEqual(SubscriptionReader.defaultZone)
                ? part(.zoneDefault, "a database subscription does not watch \(name)")
                : part(.zoneSame, "it watches every zone except the default zone", [.init("zone", name)])
        }
        guard case .one(let zone) = subscription.zone else { return part(.zoneSame, "it watches every zone") }
        let watched = zone?.text ?? SubscriptionReader.defaultZone.text
        if name.utf8.elementsEqual(watched.utf8), !change.hasZoneOwner(subscription.sharedZoneOwner?.utf8) {
            return part(
                .zoneDiffers,
                "the record is in another user's zone \(name), the subscription watches the zone of "
                    + "\(subscription.sharedZoneOwner?.text ?? "")",
                [.init("zone", name), .init("watched", watched)])
        }
        return name.utf8.elementsEqual(watched.utf8)
            ? part(.zoneSame, "the record is in zone \(name)")
            : part(
                .zoneDiffers, "the record is in zone \(name), the subscription watches zone \(watched)",
                [.init("zone", name), .init("watched", watched)])
    }

    private var recordType: Explanation {
        let type = change.recordType?.text
        guard let watched = subscription.recordType?.text else { return ignoredRecordType(type) }
        guard let type, type.utf8.elementsEqual(watched.utf8) else {
            return part(
                .recordTypeDiffers, "the record is of type \(type ?? "unknown"), the subscription watches \(watched)",
                [.init("recordType", type ?? ""), .init("watched", watched)])
        }
        return part(.recordTypeSame, "the record is of type \(type)")
    }

    private func ignoredRecordType(_ type: String?) -> Explanation {
        guard settings.strictRecordType == .ignore, let named = subscription.namedRecordType,
            type.map({ ExactText($0) }) != ExactText(named)
        else {
            return part(.recordTypeSame, "it watches every record type")
        }
        return part(
            .recordTypeIgnored,
            "the record is of type \(type ?? "unknown"); the subscription names \(named), but strictRecordType is ignore",
            [.init("recordType", type ?? ""), .init("named", named)])
    }

    private var firesOn: Explanation {
        let word = "\(change.reason.word)"
        if subscription.firesOn.contains(change.reason) { return part(.firesOnSame, "it fires on \(word)") }
        return part(
            .firesOnDiffers, "it fires on \(subscription.firesOn.words.joined(separator: ", ")), not on \(word)",
            [.init("reason", word), .init("firesOn", subscription.firesOn.words)])
    }
}

extension Reason {
    fileprivate var words: [String] {
        [Reason.create, .update, .delete].filter { contains($0) }.map { "\($0.word)" }
    }
}

// MARK: - Predicate

extension ChangeCheck {
    private static let valueMax = 80

    private var predicate: [Explanation] {
        let never =
            subscription.predicate.isNever ? [part(.predicateNever, "its predicate is false for all records")] : []
        return never
            + subscription.predicate.clauses.map { explained($0) }
            + subscription.predicate.alternatives.map { explained($0) }
    }

    private var record: RecordView {
        RecordView(record: change.record, fields: change.fields, now: change.milliseconds, save: change.save)
    }

    private func explained(_ condition: Condition) -> Explanation {
        switch condition {
        case .clause(let clause): return explained(clause)
        case .all(let parts), .any(let parts):
            let holds = record.holds(condition)
            return Explanation(
                MatchStage.kind, holds ? .conditionTrue : .conditionFalse,
                "\(condition.text) is \(holds ? "true" : "false")", [.init("condition", condition.text)],
                parts: parts.map { explained($0) })
        }
    }

    private func explained(_ clause: Clause) -> Explanation {
        let value = record.json(for: clause)
        let (code, text) = verdict(record.verdict(of: clause), clause, value)
        let details: [Explanation.Detail] = [.init("clause", clause.text), .init("field", clause.field)]
        return part(code, text, details + (value.map { [.init("value", json: $0)] } ?? []))
    }

    private func verdict(
        _ verdict: Clause.Verdict, _ clause: Clause, _ value: [UInt8]?
    ) -> (ExplanationCode, String) {
        let (text, field) = (clause.text, clause.field)
        let was = value.map { "\(field) was \(ChangeCheck.shortened($0))" } ?? "\(field) had no value"
        return switch (verdict, clause.subject) {
        case (.holds, .allText): (.clauseTrue, "\(text) is true: the record's strings contain the words")
        case (_, .allText): (.clauseFalse, "\(text) is false: the record's strings do not contain the words")
        case (.holds, _): (.clauseTrue, "\(text) is true: \(was)")
        case (.fails, _): (.clauseFalse, "\(text) is false: \(was)")
        case (.fieldMissing, .system):
            (.clauseFieldMissing, "\(text) is false: the record has no system field \(field)")
        case (.fieldMissing, _): (.clauseFieldMissing, "\(text) is false: the record has no field \(field)")
        case (.typeDiffers, _):
            (.clauseTypeDiffers, "\(text) is false: \(was), which has another type than the predicate's value")
        }
    }

    private static func shortened(_ json: [UInt8]) -> String {
        let text = json.text
        return text.count > valueMax ? text.prefix(valueMax) + "…" : text
    }
}

extension [UInt8] {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}

extension JSONValue {
    fileprivate var text: String { string ?? "" }
}
