import Events
import JSON

extension MatchWorkload {
    private enum Action: Int { case create, update, delete }

    /// Calls `body` with one `record.save` or `record.delete` a line, with its line feed; each says what the change is and
    /// of which fields.
    func forEachChange(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        var draw = WorkloadDraw(seed: seed, stream: "changes")
        var line = ByteBuffer(capacity: 4096)
        for number in 0..<count {
            line.removeAll()
            write(number, &draw, to: &line)
            body(line.bytes)
        }
    }

    private func write(_ number: Int, _ draw: inout WorkloadDraw, to line: inout ByteBuffer) {
        let type = types[draw.weighted(typeSums)]
        let action = Action(rawValue: draw.weighted([35, 85, 100])) ?? .create
        let isPublic = draw.chance(60)
        let user = draw.skewed(users)
        line.append(action == .delete ? "{\"type\":\"record.delete\"," : "{\"type\":\"record.save\",")
        MatchWorkload.appendPlace(isPublic: isPublic, to: &line)
        if !isPublic { line.append(raw: ",\"owner\":\"_u\(user)\"") }
        let zone = !isPublic && draw.chance(90) ? MatchWorkload.zones[draw.below(4)] : nil
        line.append(raw: ",\"origin\":{\"\(Member.user)\":\"_u\(user)\",\"device\":\"d\(draw.below(3))\"}")
        if action != .delete { line.append(action == .create ? ",\"change\":\"create\"" : ",\"change\":\"update\"") }
        line.append(raw: ",\"record\":{\"recordName\":\"r\(number)\",\"recordType\":\"\(type.name)\"")
        if let zone { line.append(raw: ",\"zoneID\":{\"zoneName\":\"\(zone)\"}") }
        line.append(action == .delete ? "},\"before\":" : ",\"fields\":")
        writeFields(type, &draw, to: &line)
        if action != .delete { line.append("}") }
        if action == .update, draw.chance(5) {
            line.append(member: .before)
            writeFields(type, &draw, to: &line)
        }
        line.append("}\n")
    }

    private func writeFields(_ type: RecordType, _ draw: inout WorkloadDraw, to line: inout ByteBuffer) {
        line.append("{")
        var isFirst = true
        for (index, field) in (type.anchors + type.plain).enumerated() where !draw.chance(missing(index)) {
            line.append(raw: "\(isFirst ? "" : ",")\"\(field.name)\":")
            isFirst = false
            switch field.values {
            case .members: line.append(distinct(field, 1 + draw.below(3), &draw), of: field, type: field.type)
            case .someOf: line.append(distinct(field, draw.below(4), &draw), of: field, type: field.type)
            default: line.append(value(field, &draw), of: field, type: field.type)
            }
        }
        line.append("}")
    }

    /// Of a hundred records, how many lack a field.
    private func missing(_ index: Int) -> Int { isDense ? 10 : index == 0 ? 5 : index == 1 ? 50 : 66 }
}
