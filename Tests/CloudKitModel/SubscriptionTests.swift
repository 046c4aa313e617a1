import CloudKitModel
import Testing

struct SubscriptionTests {
    static let query = #""subscriptionID":"s","subscriptionType":"query","query":{"recordType":"Note"}"#
    static let fires = #""firesOn":["create"]"#
    static let zone = #""subscriptionID":"s","subscriptionType":"zone""#
    static let database = #""subscriptionID":"s","subscriptionType":"database""#

    static let accepted: [(String, DatabaseScope)] = [
        ("{\(query),\(fires)}", .private),
        ("{\(query),\(fires)}", .public),
        (#"{\#(query),"firesOn":["create","update","delete"],"firesOnce":true,"zoneWide":true}"#, .private),
        (#"{\#(query),\#(fires),"zoneID":{"zoneName":"_defaultZone","ownerRecordName":"_a"}}"#, .private),
        (
            #"{"subscriptionID":"s","subscriptionType":"query","firesOn":["delete"],"#
                + #""query":{"recordType":"cloudkit.share","filterBy":[],"sortBy":[]}}"#, .public
        ),
        (#"{\#(zone),"zoneID":{"zoneName":"Notes","ownerName":"_a"},"recordType":"Note"}"#, .private),
        (#"{\#(zone),"zoneID":{"zoneName":"Notes"},"firesOnce":false,"zoneWide":false}"#, .private),
        (#"{\#(zone),"zoneWide":true}"#, .private),
        (#"{\#(zone),"zoneWide":true,"recordType":"Note"}"#, .shared),
        ("{\(database)}", .private),
        (#"{\#(database),"zoneWide":true,"recordType":"Note","notificationInfo":{}}"#, .shared),
    ]

    @Test(arguments: accepted)
    func `valid subscriptions of every form are accepted`(text: String, scope: DatabaseScope) throws {
        #expect(try subscriptionError(text, in: scope) == nil)
    }

    @Test(arguments: [
        (#""subscriptionType":"query","query":{"recordType":"N"},"firesOn":["create"]"#, Subscription.Form.query),
        (#""subscriptionType":"zone","zoneID":{"zoneName":"Z"}"#, .zone),
        (#""subscriptionType":"zone","zoneWide":true"#, .database),
        (#""subscriptionType":"database""#, .database),
    ])
    func `a subscription has the form of its type, but a zone subscription for all zones has the form database`(
        members: String, form: Subscription.Form
    ) throws {
        let refusal = try error(in: #"{"subscriptionID":"s",\#(members)}"#) { json throws(ModelError) in
            #expect(try Subscription(json, in: .private).form == form)
        }
        #expect(refusal == nil)
    }

    static let refused = [
        RefusedText("7", "member.kind", at: "", "a subscription must be an object, but this is a number"),
        RefusedText(
            #"{\#(query),"fireOn":["create"]}"#, "member.unknown", at: "fireOn",
            #"a subscription has no member "fireOn": did you mean "firesOn"?"#),
        RefusedText(
            #"{"subscriptionType":"database"}"#, "member.missing", at: "subscriptionID",
            "subscriptionID is required: add it"),
        RefusedText(
            #"{"subscriptionID":"","subscriptionType":"database"}"#, "name.length", at: "subscriptionID",
            "a subscription ID has 1 to 255 bytes, not 0"),
        RefusedText(
            #"{"subscriptionID":"s"}"#, "member.missing", at: "subscriptionType",
            "subscriptionType is required: add it"),
        RefusedText(
            #"{"subscriptionID":"s","subscriptionType":"Zone"}"#, "word.unknown", at: "subscriptionType",
            #"a subscription's type cannot be "Zone": did you mean "zone"?"#),
        RefusedText(
            #"{"subscriptionID":"s","subscriptionType":"recordZone"}"#, "word.unknown", at: "subscriptionType",
            #"a subscription's type cannot be "recordZone": use query, zone or database"#),
        RefusedText(
            #"{\#(database),"zoneWide":1}"#, "member.kind", at: "zoneWide",
            "zoneWide must be true or false, but this is a number"),
        RefusedText(
            #"{"subscriptionID":"s","subscriptionType":"query","firesOn":["create"]}"#, "member.missing", at: "query",
            "query is missing: add the query that the subscription watches"),
        RefusedText(
            "{\(query)}", "member.missing", at: "firesOn",
            "firesOn is missing: name at least one of create, update and delete"),
        RefusedText(
            #"{\#(query),"firesOn":[]}"#, "subscription.fires_on", at: "firesOn",
            "firesOn is empty: name at least one of create, update and delete"),
        RefusedText(
            #"{\#(query),"firesOn":["create","udpate"]}"#, "word.unknown", at: "firesOn[1]",
            #"a change cannot be "udpate": did you mean "update"?"#),
        RefusedText(
            #"{\#(query),\#(fires),"recordType":"Note"}"#, "member.conflict", at: "recordType",
            "a query subscription names its record type in query.recordType: move it there"),
        RefusedText(
            #"{\#(query),\#(fires),"zoneID":{"zoneName":"Z"},"zoneWide":true}"#, "member.conflict", at: "zoneWide",
            "zoneWide means all zones, zoneID means one zone: keep one of them"),
        RefusedText(
            #"{\#(zone),"zoneID":{"zoneName":"Z"},"firesOn":["create"]}"#, "subscription.fires_on", at: "firesOn",
            "only a query subscription chooses what it fires on: take firesOn out"),
        RefusedText(
            #"{\#(database),"firesOnce":true}"#, "subscription.fires_once", at: "firesOnce",
            "only a query subscription fires once: take firesOnce out"),
        RefusedText(
            #"{\#(database),"query":{"recordType":"Note"}}"#, "member.conflict", at: "query",
            "only a query subscription has a query: to watch one type, use recordType"),
        RefusedText(
            #"{\#(database),"zoneID":{"zoneName":"Z"}}"#, "member.conflict", at: "zoneID",
            "a database subscription watches all zones except _defaultZone: take zoneID out, or save a zone "
                + "subscription"),
        RefusedText(
            "{\(zone)}", "member.missing", at: "zoneID",
            #"zoneID is missing: add the zone to watch, or "zoneWide": true for all zones except _defaultZone"#),
        RefusedText(
            #"{\#(zone),"zoneID":{"zoneName":"_defaultZone"}}"#, "subscription.zone", at: "zoneID.zoneName",
            "a zone subscription cannot watch _defaultZone, which has no change feed: use a query"),
        RefusedText(
            #"{\#(zone),"zoneID":{"ownerRecordName":"_a"}}"#, "member.missing", at: "zoneID.zoneName",
            "zoneName is required: add it"),
        RefusedText(
            #"{\#(zone),"zoneID":{"zoneName":"Z","ownerRecordName":"_a","ownerName":"_a"}}"#, "member.conflict",
            at: "zoneID.ownerName",
            "ownerName and ownerRecordName are two names of the same member: keep one of them"),
        RefusedText(
            #"{\#(database),"recordType":"No te"}"#, "name.characters", at: "recordType",
            #"a record type is ASCII letters, digits, '.', '-' and '_', which "No te" is not"#),
        RefusedText(
            #"{\#(database),"notificationInfo":{"desiredKeys":["a","b","c","d"]}}"#, "notification.desired_keys",
            at: "notificationInfo.desiredKeys[3]",
            "a notification carries at most 3 desired keys, not 4: take some out"),
    ]

    @Test(arguments: refused)
    func `an invalid subscription is refused`(row: RefusedText) throws {
        #expect(try subscriptionError(row.text) == row.error)
    }

    static let refusedQueries = [
        RefusedText(#"{}"#, "member.missing", at: "query.recordType", "recordType is required: add it"),
        RefusedText(#"[]"#, "member.kind", at: "query", "a query must be an object, but this is an array"),
        RefusedText(
            #"{"recordType":"N","filterby":[]}"#, "member.unknown", at: "query.filterby",
            #"a query has no member "filterby": did you mean "filterBy"?"#),
        RefusedText(
            #"{"recordType":"N","filterBy":{}}"#, "member.kind", at: "query.filterBy",
            "filterBy must be an array, but this is an object"),
        RefusedText(
            #"{"recordType":"N","predicate":["a"]}"#, "member.kind", at: "query.predicate",
            "a predicate must be a string, but this is an array"),
        RefusedText(
            #"{"recordType":"N","predicate":"a = 1","filterBy":[]}"#, "member.conflict", at: "query.predicate",
            "a query has filterBy or predicate, not both: keep one of them"),
    ]

    @Test(arguments: refusedQueries)
    func `an invalid query is refused`(row: RefusedText) throws {
        let text = #"{"subscriptionID":"s","subscriptionType":"query","firesOn":["create"],"query":\#(row.text)}"#
        #expect(try subscriptionError(text) == row.error)
    }

    static let wrongDatabases: [(String, DatabaseScope, String)] = [
        (
            "{\(query),\(fires)}", .shared,
            "a query subscription cannot be in a shared database: "
                + "save it in a public or private database, or let ingest accept it with subscriptionsInAnyDatabase: true"
        ),
        (
            #"{\#(zone),"zoneID":{"zoneName":"Z"}}"#, .shared,
            "a zone subscription cannot be in a shared database: "
                + "save it in a private database, or let ingest accept it with subscriptionsInAnyDatabase: true"
        ),
        (
            #"{\#(zone),"zoneID":{"zoneName":"Z"}}"#, .public,
            "a zone subscription cannot be in a public database: "
                + "save it in a private database, or let ingest accept it with subscriptionsInAnyDatabase: true"
        ),
        (
            "{\(database)}", .public,
            "a database subscription cannot be in a public database: "
                + "save it in a private or shared database, or let ingest accept it with subscriptionsInAnyDatabase: true"
        ),
    ]

    @Test(arguments: wrongDatabases)
    func `a subscription in a wrong database is refused unless a setting allows it`(
        text: String, scope: DatabaseScope, reason: String
    )
        throws
    {
        let expected = ModelError("subscription.scope", at: "subscriptionType", reason)
        #expect(try subscriptionError(text, in: scope) == expected)
        #expect(try subscriptionError(text, in: scope, allowsAnyScope: true) == nil)
    }
}
