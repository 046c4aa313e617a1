import Events
import JSON

extension MatchWorkload {
    private static let firesOn: [StaticString] = [
        #"["create","update"]"#, #"["create"]"#, #"["update"]"#, #"["delete"]"#, #"["create","update","delete"]"#,
    ]

    /// Hashes of a subscription without its ID. CloudKit refuses a subscription if its user already has a
    /// subscription with the same content.
    private struct Content: Hashable {
        let head: Int
        let tail: Int
    }

    /// Calls `body` with each `subscription.save`, one line with its line feed.
    func forEachSubscription(_ body: (UnsafeRawBufferPointer) -> Void) {
        var random = WorkloadRandom(seed: seed, stream: "subscriptions")
        var seen: Set<Content> = []
        seen.reserveCapacity(count)
        var line = ByteBuffer(capacity: 4096)
        for number in 0..<count {
            repeat { line.removeAll() } while !seen.insert(write(number, &random, to: &line)).inserted
            body(line.bytes)
        }
    }

    private func write(_ number: Int, _ random: inout WorkloadRandom, to line: inout ByteBuffer) -> Content {
        let roll = random.below(100)
        let isPublic = roll < 60
        line.append("{\"type\":\"subscription.save\",")
        MatchWorkload.appendContainerAndDatabase(isPublic: isPublic, to: &line)
        line.append(raw: ",\"\(Member.user)\":\"_u\(random.skewed(users))\"")
        let head = ByteHash.of(line.bytes)
        line.append(raw: ",\"subscription\":{\"\(Member.subscriptionID)\":\"s\(MatchWorkload.digits(number))\"")
        let start = line.count
        if roll < 78 {
            writeQuery(isPublic: isPublic, &random, to: &line)
        } else {
            writeZoneOrDatabase(isZone: roll < 90, &random, to: &line)
        }
        line.append(",\"notificationInfo\":{\"shouldSendContentAvailable\":true}}}\n")
        return Content(head: head, tail: ByteHash.of(UnsafeRawBufferPointer(rebasing: line.bytes[start...])))
    }

    private func writeQuery(isPublic: Bool, _ random: inout WorkloadRandom, to line: inout ByteBuffer) {
        line.append(",\"subscriptionType\":\"query\"")
        let type = types[random.weighted(cumulativeTypeWeights)]
        if !isPublic {
            if random.chance(50) { appendZone(&random, to: &line) } else { line.append(",\"zoneWide\":true") }
        }
        line.append(raw: ",\"query\":{\"recordType\":\"\(type.name)\",\"filterBy\":[")
        for (index, clause) in clauses(type, isPublic: isPublic, &random).enumerated() {
            if index > 0 { line.append(",") }
            line.append(clause)
        }
        line.append("]},\"firesOn\":")
        line.append(MatchWorkload.firesOn[random.weighted([50, 70, 80, 90, 100])])
    }

    private func writeZoneOrDatabase(isZone: Bool, _ random: inout WorkloadRandom, to line: inout ByteBuffer) {
        line.append(isZone ? ",\"subscriptionType\":\"zone\"" : ",\"subscriptionType\":\"database\"")
        if isZone { appendZone(&random, to: &line) }
        if random.chance(30) {
            let type = types[random.weighted(cumulativeTypeWeights)]
            line.append(raw: ",\"recordType\":\"\(type.name)\"")
        }
    }

    private func appendZone(_ random: inout WorkloadRandom, to line: inout ByteBuffer) {
        line.append(raw: ",\"zoneID\":{\"zoneName\":\"\(MatchWorkload.zones[random.below(4)])\"}")
    }

    static func appendContainerAndDatabase(isPublic: Bool, to line: inout ByteBuffer) {
        line.append("\"container\":\"iCloud.bench\",\"environment\":\"production\",\"database\":")
        line.append(isPublic ? "\"public\"" : "\"private\"")
    }

    /// A number with zeros before it, so that it has at least seven digits.
    private static func digits(_ number: Int) -> String { "\(number)".leftPadded(to: 7).replacing(" ", with: "0") }
}

extension ByteBuffer {
    fileprivate mutating func append(_ clause: WorkloadClause) {
        append(raw: "{\"comparator\":\"\(clause.comparator)\",\"fieldName\":\"\(clause.field.name)\",\"fieldValue\":")
        let element = clause.field.isList ? String(clause.field.type.dropLast("_LIST".count)) : clause.field.type
        if clause.takesList {
            append(clause.values, of: clause.field, type: element + "_LIST")
        } else {
            append(clause.values[0], of: clause.field, type: element)
        }
        append("}")
    }

    /// Appends a field dictionary with one value.
    mutating func append(_ value: WorkloadValue, of field: WorkloadField, type: String) {
        append("{\"value\":")
        append(value, of: field)
        append(raw: ",\"type\":\"\(type)\"}")
    }

    /// Appends a field dictionary with a list of values.
    mutating func append(_ values: [WorkloadValue], of field: WorkloadField, type: String) {
        append("{\"value\":[")
        for (index, value) in values.enumerated() {
            if index > 0 { append(",") }
            append(value, of: field)
        }
        append(raw: "],\"type\":\"\(type)\"}")
    }

    private mutating func append(_ value: WorkloadValue, of field: WorkloadField) {
        switch value {
        case .integer(let number): appendJSON(number)
        case .hundredths(let number): append(raw: "\(number / 100).\(number % 100 < 10 ? "0" : "")\(number % 100)")
        case .text(let text) where field.type == "REFERENCE":
            append(raw: "{\"recordName\":\"\(text)\",\"action\":\"NONE\"}")
        case .text(let text): append(raw: "\"\(text)\"")
        }
    }
}
