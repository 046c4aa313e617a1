import TestSupport

/// What a subscription watches, written down once more without JSON, index or views: a test's second opinion.
struct PlainSubscription {
    struct Clause {
        let field: String
        let comparator: String
        let values: [Int]
    }

    let id: String
    let user: String
    let database: String
    let kind: String
    let recordType: String?
    let zone: String?
    let firesOn: [String]
    let firesOnce: Bool
    let clauses: [Clause]

    func watches(_ change: PlainChange) -> Bool {
        guard database == change.database, database == "public" || user == change.owner else { return false }
        guard recordType == nil || recordType == change.recordType else { return false }
        if kind == "database" { return change.zone != "_defaultZone" }
        guard zone == nil || zone == change.zone else { return false }
        return kind == "zone" || firesOn.contains(change.action) && clauses.allSatisfy { holds($0, change) }
    }

    private func holds(_ clause: Clause, _ change: PlainChange) -> Bool {
        if let value = change.numbers[clause.field] {
            switch clause.comparator {
            case "EQUALS": return value == clause.values[0]
            case "NOT_EQUALS": return value != clause.values[0]
            case "LESS_THAN": return value < clause.values[0]
            case "GREATER_THAN_OR_EQUALS": return value >= clause.values[0]
            case "IN": return clause.values.contains(value)
            case "NOT_IN": return !clause.values.contains(value)
            default: return false
            }
        }
        guard let list = change.lists[clause.field] else { return false }
        switch clause.comparator {
        case "LIST_CONTAINS": return list.contains(clause.values[0])
        case "NOT_LIST_CONTAINS": return !list.contains(clause.values[0])
        case "LIST_CONTAINS_ANY": return clause.values.contains { list.contains($0) }
        case "LIST_CONTAINS_ALL": return clause.values.allSatisfy { list.contains($0) }
        default: return false
        }
    }
}

struct PlainChange {
    let action: String
    let database: String
    let owner: String
    let recordType: String
    let zone: String
    let numbers: [String: Int]
    let lists: [String: [Int]]
}

// MARK: - As lines

extension PlainSubscription {
    var line: String {
        var body = [#""subscriptionType":"\#(kind)""#]
        if kind == "query" {
            let filters = clauses.map(\.text).joined(separator: ",")
            body.append(#""query":{"recordType":"\#(recordType ?? "")","filterBy":[\#(filters)]}"#)
            body.append(
                #""firesOn":[\#(firesOn.map { "\"\($0)\"" }.joined(separator: ","))],"firesOnce":\#(firesOnce)"#)
            if zone == nil { body.append(#""zoneWide":true"#) }
        } else if let recordType {
            body.append(#""recordType":"\#(recordType)""#)
        }
        if let zone { body.append(#""zoneID":{"zoneName":"\#(zone)"}"#) }
        return Line.save(body.joined(separator: ","), id: id, database: database, user: user)
    }
}

extension PlainSubscription.Clause {
    fileprivate var text: String {
        let takesList = ["IN", "NOT_IN", "LIST_CONTAINS_ANY", "LIST_CONTAINS_ALL"].contains(comparator)
        return
            #"{"comparator":"\#(comparator)","fieldName":"\#(field)","fieldValue":{"value":\#(takesList ? "\(values)" : "\(values[0])")}}"#
    }
}

extension PlainChange {
    var line: String {
        let fields =
            numbers.map { #""\#($0)":{"value":\#($1),"type":"INT64"}"# } + lists.map { #""\#($0)":{"value":\#($1)}"# }
        return Line.change(
            action, database: database, owner: database == "public" ? nil : owner, type: recordType, zone: zone,
            fields: "{\(fields.joined(separator: ","))}")
    }
}

// MARK: - Drawing

extension PlainSubscription {
    init(drawnBy random: inout Seeded) {
        kind = random.one(of: ["query", "query", "query", "query", "zone", "database"])
        id = "s\(random.below(60))"
        user = random.one(of: PlainChange.users)
        database = random.one(of: PlainChange.databases)
        let isNarrow = kind == "query" || random.below(2) == 0
        recordType = isNarrow ? random.one(of: PlainChange.types) : nil
        zone = kind == "database" || kind == "query" && random.below(2) == 0 ? nil : random.one(of: PlainChange.zones)
        firesOn = Array(PlainChange.actions.shuffled(using: &random).prefix(1 + random.below(3)))
        firesOnce = kind == "query" && random.below(8) == 0
        var clauses: [Clause] = []
        for _ in 0..<random.below(4) where kind == "query" { clauses.append(Clause(drawnBy: &random)) }
        self.clauses = clauses
    }
}

extension PlainSubscription.Clause {
    init(drawnBy random: inout Seeded) {
        field = random.one(of: PlainChange.numberFields + PlainChange.listFields)
        let isList = PlainChange.listFields.contains(field)
        comparator = random.one(
            of: isList
                ? ["LIST_CONTAINS", "NOT_LIST_CONTAINS", "LIST_CONTAINS_ANY", "LIST_CONTAINS_ALL"]
                : ["EQUALS", "EQUALS", "NOT_EQUALS", "LESS_THAN", "GREATER_THAN_OR_EQUALS", "IN", "NOT_IN"])
        var values: [Int] = []
        for _ in 0...random.below(3) { values.append(random.below(4)) }
        self.values = values
    }
}

extension PlainChange {
    static let users = ["_a", "_b"]
    static let databases = ["public", "private", "shared"]
    static let types = ["Note", "Task"]
    static let zones = ["_defaultZone", "Y", "Z"]
    static let actions = ["create", "update", "delete"]
    static let numberFields = ["n", "m"]
    static let listFields = ["t", "u"]

    init(drawnBy random: inout Seeded) {
        action = random.one(of: PlainChange.actions)
        database = random.one(of: PlainChange.databases)
        owner = random.one(of: PlainChange.users)
        recordType = random.one(of: PlainChange.types)
        zone = random.one(of: PlainChange.zones)
        var numbers: [String: Int] = [:]
        for field in PlainChange.numberFields where random.below(4) > 0 { numbers[field] = random.below(4) }
        self.numbers = numbers
        var lists: [String: [Int]] = [:]
        for field in PlainChange.listFields where random.below(4) > 0 {
            var list: [Int] = []
            for _ in 0..<random.below(4) { list.append(random.below(4)) }
            lists[field] = list
        }
        self.lists = lists
    }
}
