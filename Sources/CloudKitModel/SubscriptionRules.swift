import Events
import JSON

/// Checks the members of a subscription, and that they fit its form and its database.
struct SubscriptionRules {
    let subscription: Subscription
    let json: JSONValue

    private static let queryKeys: [StaticString] = [
        "recordType", "filterBy", "predicate", "arguments", "sortBy",
    ]

    func check(in scope: DatabaseScope, allowsAnyScope: Bool) throws(ModelError) {
        if !allowsAnyScope { try checkScope(scope) }
        try checkZone(allowsAnyScope: allowsAnyScope)
        switch subscription.form {
        case .query: try checkQuerySubscription()
        case .zone, .database: try checkZoneOrDatabaseSubscription()
        }
        guard let info = subscription.notificationInfo else { return }
        try under(.notificationInfo) { () throws(ModelError) in try NotificationInfo.check(info) }
    }

    private func checkScope(_ scope: DatabaseScope) throws(ModelError) {
        let scopes = subscription.form.scopes
        guard !scopes.contains(scope) else { return }
        let allowed = scopes.map { "\($0.word)" }.joined(separator: " or ")
        throw ModelError(
            "subscription.scope", at: "subscriptionType",
            "a \(subscription.form) subscription cannot be in a \(scope.word) database: "
                + "save it in a \(allowed) database, or let ingest accept it with subscriptionsInAnyDatabase: true")
    }

    private func checkZone(allowsAnyScope: Bool) throws(ModelError) {
        guard subscription.zoneID == nil || !subscription.zoneWide else {
            throw conflict("zoneWide", "zoneWide means all zones, zoneID means one zone: keep one of them")
        }
        switch subscription.form {
        case .query: return
        case .database:
            guard subscription.zoneID == nil else {
                throw conflict(
                    "zoneID",
                    "a database subscription watches all zones except \(ZoneID.defaultZone): take zoneID out, or save "
                        + "a zone subscription")
            }
        case .zone: try checkWatchedZone(allowsAnyScope: allowsAnyScope)
        }
    }

    private func checkWatchedZone(allowsAnyScope: Bool) throws(ModelError) {
        guard let zone = subscription.zoneID else {
            throw ModelError.missing(
                "zoneID",
                "is missing: add the zone to watch, or \"zoneWide\": true for all zones except \(ZoneID.defaultZone)")
        }
        guard zone.isDefault, !allowsAnyScope else { return }
        throw ModelError(
            "subscription.zone", at: "zoneID.zoneName",
            "a zone subscription cannot watch \(ZoneID.defaultZone), which has no change feed: use a query")
    }

    private func conflict(_ key: StaticString, _ reason: String) -> ModelError {
        ModelError("member.conflict", at: "\(key)", reason)
    }

    // MARK: Queries

    private func checkQuerySubscription() throws(ModelError) {
        guard let query = subscription.query else {
            throw ModelError.missing("query", "is missing: add the query that the subscription watches")
        }
        try under(.query) { () throws(ModelError) in try check(query: query) }
        guard json[.recordType] == nil else {
            throw conflict(
                "recordType", "a query subscription names its record type in query.recordType: move it there")
        }
        guard let firesOn = json[.firesOn] else {
            throw ModelError.missing("firesOn", "is missing: name at least one of create, update and delete")
        }
        try under(.firesOn) { () throws(ModelError) in try check(firesOn: firesOn) }
    }

    private func check(query: JSONValue) throws(ModelError) {
        try query.expectObject("a query")
        try query.expectKeys(SubscriptionRules.queryKeys, of: "a query")
        try NameRule.recordType.check(.recordType, of: query)
        guard query[.filterBy] == nil || query[.predicate] == nil else {
            throw conflict("predicate", "a query has filterBy or predicate, not both: keep one of them")
        }
        if let predicate = query[.predicate] {
            try under(.predicate) { () throws(ModelError) in try predicate.expectString("a predicate") }
        }
        guard query["arguments"] == nil || query[.predicate] != nil else {
            throw conflict("arguments", "arguments are values for a predicate: add predicate, or take arguments out")
        }
        for key in ["filterBy", "sortBy", "arguments"] as [StaticString] {
            guard let list = query[key] else { continue }
            try under(key) { () throws(ModelError) in try list.expectArray(key) }
        }
    }

    private func check(firesOn: JSONValue) throws(ModelError) {
        try firesOn.expectArray(.firesOn)
        guard firesOn.count > 0 else {
            throw ModelError(
                "subscription.fires_on", "firesOn is empty: name at least one of create, update and delete")
        }
        var index = 0
        for change in firesOn.elements {
            try under(element: index) { () throws(ModelError) in _ = try RecordChange(change) }
            index += 1
        }
    }

    private func checkZoneOrDatabaseSubscription() throws(ModelError) {
        guard subscription.query == nil else {
            throw conflict("query", "only a query subscription has a query: to watch one type, use recordType")
        }
        guard json[.firesOn] == nil else {
            throw ModelError(
                "subscription.fires_on", at: "firesOn",
                "only a query subscription chooses what it fires on: take firesOn out")
        }
        guard !subscription.firesOnce else {
            throw ModelError(
                "subscription.fires_once", at: "firesOnce", "only a query subscription fires once: take firesOnce out")
        }
        guard let recordType = subscription.recordType else { return }
        try under(.recordType) { () throws(ModelError) in try NameRule.recordType.check(recordType) }
    }
}
