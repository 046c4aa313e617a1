import JSON
import TestSupport

@testable import Predicates

/// A random subscription, with its line in the changes log.
struct DrawnSubscription {
    /// The members from container to subscription ID, as in a match.
    let identity: String
    let place: DrawnPlace
    let user: String
    /// Whether this is a database subscription. A zone subscription with `zoneWide` counts as one.
    let isDatabase: Bool
    /// The watched record type; nil for all types.
    let recordType: String?
    /// The watched zone; nil for all zones, or for all except the default zone if ``isDatabase`` is true.
    let zone: String?
    let firesOn: Set<String>
    let firesOnce: Bool
    let predicate: RecordPredicate
    let line: String
    /// The line that deletes the subscription.
    let deleteLine: String

    init(_ pools: CommandPools, _ random: inout Seeded) throws {
        place = DrawnPlace(pools, &random)
        user = random.one(of: pools.users)
        let id = "s\(random.below(pools.ids))"
        let head = #"\#(place.members),"user":"\#(user)""#
        identity = #"\#(head),"subscriptionID":"\#(id)""#
        deleteLine = #"{"type":"subscription.delete",\#(identity)}"#

        let kind = random.one(of: pools.subscriptionKinds)
        isDatabase = kind == "database" || kind == "zoneWide"
        var members = [
            #""subscriptionID":"\#(id)""#, #""subscriptionType":"\#(kind == "zoneWide" ? "zone" : kind)""#,
        ]
        let isQuery = kind == "query"
        recordType = isQuery || random.isOneIn(2) ? random.one(of: pools.types) : nil
        let isZoneWide = isDatabase || isQuery && random.isOneIn(2)
        let isZoneNamed = !isDatabase && !isZoneWide && random.below(3) > 0
        zone = isZoneWide ? nil : isZoneNamed ? random.one(of: pools.zones) : "_defaultZone"
        if isZoneNamed, let zone { members.append(#""zoneID":{"zoneName":"\#(zone)"}"#) }
        if isZoneWide, kind != "database" { members.append(#""zoneWide":true"#) }
        firesOnce = isQuery && random.isOneIn(12)
        if isQuery {
            firesOn = Set(
                DrawnChange.actions.filter { _ in random.below(3) > 0 } + [random.one(of: DrawnChange.actions)])
            members.append(#""firesOn":[\#(firesOn.sorted().map { "\"\($0)\"" }.joined(separator: ","))]"#)
            if firesOnce { members.append(#""firesOnce":true"#) }
            var drawn = DrawnPredicate(random: random)
            let predicate = random.isOneIn(pools.queriesPerEmptyQuery) ? RecordPredicate.always : drawn.predicate()
            random = drawn.random
            let query = Self.query(predicate, &random)
            self.predicate = try Self.read("{\(query)}")
            members.append(#""query":{"recordType":"\#(recordType ?? "")",\#(query)}"#)
        } else {
            firesOn = Set(DrawnChange.actions)
            predicate = .always
            if let recordType { members.append(#""recordType":"\#(recordType)""#) }
        }
        line = #"{"type":"subscription.save",\#(head),"subscription":{\#(members.joined(separator: ","))}}"#
    }

    /// The member of a query that contains the predicate. If `filterBy` can express the predicate, half of the queries
    /// contain it as `filterBy`. All other queries contain it as text.
    private static func query(_ predicate: RecordPredicate, _ random: inout Seeded) -> String {
        if random.isOneIn(2), let filterBy = predicate.filterBy { return #""filterBy":\#(filterBy)"# }
        var buffer = ByteBuffer()
        buffer.appendJSON(predicate.text)
        return #""predicate":\#(buffer.text)"#
    }

    private static func read(_ query: String) throws -> RecordPredicate {
        try withJSON(query) { try PredicateReader(.extended).read(query: $0).predicate }
    }
}

/// The container, environment and database of a subscription or a record.
struct DrawnPlace: Equatable {
    let container: String
    let environment: String
    let database: String

    init(_ pools: CommandPools, _ random: inout Seeded) {
        container = random.one(of: pools.containers)
        environment = random.one(of: pools.environments)
        database = random.one(of: pools.databases)
    }

    var members: String {
        #""container":"\#(container)","environment":"\#(environment)","database":"\#(database)""#
    }
}

/// A random change of a record.
struct DrawnChange {
    static let actions = ["create", "update", "delete"]

    let place: DrawnPlace
    let owner: String
    let action: String
    /// Nil in a delete that names no type, as for a record that ingest does not know.
    let recordType: String?
    let zone: String
    let line: String
    /// The record in the line, with the system fields that follow from who saved the record, and when.
    let recordWithSystemFields: String

    init(_ pools: CommandPools, _ random: inout Seeded) {
        place = DrawnPlace(pools, &random)
        owner = random.one(of: pools.users)
        action = random.one(of: Self.actions)
        let isDelete = action == "delete"
        let type = random.one(of: pools.types)
        recordType = isDelete && random.isOneIn(8) ? nil : type
        zone = random.one(of: pools.zones)

        var record = [#""recordName":"\#(random.one(of: RandomField.names))""#]
        let isTypeInRecord = !isDelete || random.isOneIn(2)
        if let recordType, isTypeInRecord { record.append(#""recordType":"\#(recordType)""#) }
        if zone != "_defaultZone" || random.isOneIn(2) { record.append(#""zoneID":{"zoneName":"\#(zone)"}"#) }
        let system = Self.systemFields(&random)
        record += system
        let fields = Self.fields(&random)
        if !isDelete, !random.isOneIn(30) { record.append(#""fields":\#(fields)"#) }

        var members = [#""type":"\#(isDelete ? "record.delete" : "record.save")""#, place.members]
        if place.database != "public" { members.append(#""owner":"\#(owner)""#) }
        let origin = random.isOneIn(2) ? random.one(of: RandomField.names) : nil
        if let origin { members.append(#""origin":{"user":"\#(origin)","device":"d"}"#) }
        members.append(#""record":{\#(record.joined(separator: ","))}"#)
        members.append(#""change":"\#(action)""#)
        let hasBefore = !random.isOneIn(isDelete ? 20 : 2)
        if hasBefore { members.append(#""before":\#(isDelete ? fields : Self.fields(&random))"#) }
        if let recordType, !isTypeInRecord { members.append(#""recordType":"\#(recordType)""#) }
        line = "{\(members.joined(separator: ","))}"
        let user = (origin ?? (place.database == "public" ? nil : owner)).map { #","userRecordName":"\#($0)""# } ?? ""
        let saved = isDelete ? [] : action == "create" ? ["created", "modified"] : ["modified"]
        let missing = saved.filter { name in !system.contains { $0.hasPrefix(#""\#(name)""#) } }
        // The changes of the tests happen at the time 0.
        record += missing.map { #""\#($0)":{"timestamp":0\#(user)}"# }
        recordWithSystemFields = "{\(record.joined(separator: ","))}"
    }

    private static func systemFields(_ random: inout Seeded) -> [String] {
        var members: [String] = []
        for name in ["created", "modified"] where random.below(3) > 0 {
            let user = random.one(of: RandomField.names)
            members.append(#""\#(name)":{"timestamp":\#(random.below(4)),"userRecordName":"\#(user)"}"#)
        }
        if random.isOneIn(2) { members.append(#""recordChangeTag":"\#(random.one(of: RandomField.texts))""#) }
        return members
    }

    /// Random fields as JSON. About a third of the fields are missing. A few fields occur twice or have an escape in
    /// their name.
    private static func fields(_ random: inout Seeded) -> String {
        var fields: [String] = []
        for field in RandomField.all where random.below(3) > 0 || random.isOneIn(50) {
            let isSkippedRepeat = fields.contains { $0.hasPrefix("\"\(field.name)\"") } && !random.isOneIn(20)
            if isSkippedRepeat { continue }
            let name = field.name == "s" && random.isOneIn(20) ? "\\u0073" : field.name
            fields.append(#""\#(name)":\#(RandomField.field(of: field.kind, &random))"#)
        }
        return "{\(fields.shuffled(using: &random).joined(separator: ","))}"
    }
}

/// Parses a JSON text and calls `body` with its value.
func withJSON<Result>(_ text: String, _ body: (JSONValue) throws -> Result) throws -> Result {
    var parser = JSONParser()
    var text = text
    return try text.withUTF8 { try body(parser.parse(UnsafeRawBufferPointer($0))) }
}
