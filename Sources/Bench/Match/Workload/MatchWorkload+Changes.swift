import Events
import JSON

extension MatchWorkload {
    private enum Action: Int { case create, update, delete }

    /// Calls `body` with each `record.save` or `record.delete`, one line with its line feed.
    func forEachChange(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        var random = WorkloadRandom(seed: seed, stream: "changes")
        var line = ByteBuffer(capacity: 4096)
        for number in 0..<count {
            line.removeAll()
            write(number, &random, to: &line)
            body(line.bytes)
        }
    }

    private func write(_ number: Int, _ random: inout WorkloadRandom, to line: inout ByteBuffer) {
        let type = types[random.weighted(cumulativeTypeWeights)]
        let action = Action(rawValue: random.weighted([35, 85, 100])) ?? .create
        let isPublic = random.chance(60)
        let user = random.skewed(users)
        line.append(action == .delete ? "{\"type\":\"record.delete\"," : "{\"type\":\"record.save\",")
        MatchWorkload.appendContainerAndDatabase(isPublic: isPublic, to: &line)
        if !isPublic { line.append(raw: ",\"owner\":\"_u\(user)\"") }
        let zone = !isPublic && random.chance(90) ? MatchWorkload.zones[random.below(4)] : nil
        line.append(raw: ",\"origin\":{\"\(Member.user)\":\"_u\(user)\",\"device\":\"d\(random.below(3))\"}")
        if action != .delete { line.append(action == .create ? ",\"change\":\"create\"" : ",\"change\":\"update\"") }
        line.append(raw: ",\"record\":{\"recordName\":\"r\(number)\",\"recordType\":\"\(type.name)\"")
        if let zone { line.append(raw: ",\"zoneID\":{\"zoneName\":\"\(zone)\"}") }
        line.append(action == .delete ? "},\"before\":" : ",\"fields\":")
        writeFields(type, &random, to: &line)
        if action != .delete { line.append("}") }
        if action == .update, random.chance(5) {
            line.append(member: .before)
            writeFields(type, &random, to: &line)
        }
        line.append("}\n")
    }

    private func writeFields(_ type: RecordType, _ random: inout WorkloadRandom, to line: inout ByteBuffer) {
        line.append("{")
        var isFirst = true
        for (index, field) in (type.anchors + type.plain).enumerated() where !random.chance(percentMissing(index)) {
            line.append(raw: "\(isFirst ? "" : ",")\"\(field.name)\":")
            isFirst = false
            switch field.values {
            case .members:
                line.append(distinctValues(field, draws: 1 + random.below(3), &random), of: field, type: field.type)
            case .someOf:
                line.append(distinctValues(field, draws: random.below(4), &random), of: field, type: field.type)
            default: line.append(value(field, &random), of: field, type: field.type)
            }
        }
        line.append("}")
    }

    /// The percentage of records that lack the field with this index.
    private func percentMissing(_ index: Int) -> Int { isDense ? 10 : index == 0 ? 5 : index == 1 ? 50 : 66 }
}
