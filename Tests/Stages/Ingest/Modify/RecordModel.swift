import Ingest
import TestSupport

/// A slow and simple model of ingest's records.
struct RecordModel {
    struct StoredRecord {
        var type: String
        var fields: [(name: String, json: String)]
        var sequence: Int
    }

    struct Refusal: Error, Equatable {
        var code: String
        var path: String
    }

    struct Operation {
        var type: String
        var zone: String
        var name: String
        var recordType: String?
        var tag: String?
        /// A field whose `json` is nil is removed.
        var fields: [(name: String, json: String?)]
        /// The target of a field `to` with the action VALIDATE.
        var target: String?
    }

    enum Command {
        case modify([Operation])
        case save(Operation)
        case delete(Operation)
        case zoneSave(String)
        case zoneDelete(String)
    }

    private(set) var records: [String: StoredRecord] = [:]
    private(set) var zones: Set<String> = ["_defaultZone"]
    private var lastSequence = 0

    /// Applies a command. Returns one text for each event. For a record, the text is the event's change and the fields
    /// of the saved or deleted record. If a `record.delete` finds no record to delete, the text is only `delete`. For a
    /// zone, the text is the event's type.
    ///
    /// - Throws: ``Refusal`` if ingest must refuse the command.
    mutating func apply(_ command: Command) throws -> [String] {
        switch command {
        case .modify(let operations):
            var (trial, events) = (self, [String]())
            for (index, operation) in operations.enumerated() {
                do { events += try trial.perform(operation) } catch let refusal as Refusal {
                    throw Refusal(code: refusal.code, path: "operations[\(index)].record.\(refusal.path)")
                }
            }
            self = trial
            return events
        case .save(let operation):
            zones.insert(operation.zone)
            let isUpdate = records[key(operation)]?.type == operation.recordType
            return [save(operation, merging: false, isUpdate ? "update" : "create")]
        case .delete(let operation):
            lastSequence += 1
            guard let known = records[key(operation)], operation.recordType ?? known.type == known.type else {
                return ["delete"]
            }
            records[key(operation)] = nil
            return ["delete \(RecordModel.text(known.fields))"]
        case .zoneSave(let zone):
            guard zones.insert(zone).inserted else { return [] }
            lastSequence += 1
            return ["zone.save"]
        case .zoneDelete(let zone):
            guard zones.remove(zone) != nil else { throw Refusal(code: "zone.missing", path: "zoneID") }
            records = records.filter { !$0.key.hasPrefix(zone + "/") }
            lastSequence += 1
            return ["zone.delete"]
        }
    }

    private mutating func perform(_ operation: Operation) throws -> [String] {
        let known = records[key(operation)]
        guard zones.contains(operation.zone) else { throw Refusal(code: "zone.missing", path: "zoneID") }
        if operation.type == "create", known != nil { throw Refusal(code: "record.exists", path: "recordName") }
        if ["update", "replace", "delete"].contains(operation.type) {
            guard let known else { throw Refusal(code: "record.missing", path: "recordName") }
            guard operation.tag == String(known.sequence, radix: 36) else {
                throw Refusal(code: "record.conflict", path: "recordChangeTag")
            }
        }
        if let known, let type = operation.recordType, type != known.type {
            throw Refusal(code: "record.type", path: "recordType")
        }
        if operation.type.lowercased().hasSuffix("delete") {
            guard let known else { return [] }
            records[key(operation)] = nil
            lastSequence += 1
            return ["delete \(RecordModel.text(known.fields))"]
        }
        if let target = operation.target, records["\(operation.zone)/\(target)"] == nil {
            throw Refusal(code: "reference.missing", path: "fields.to.value.recordName")
        }
        let merges = operation.type.lowercased().hasSuffix("update")
        return [save(operation, merging: merges, known == nil ? "create" : "update")]
    }

    private mutating func save(_ operation: Operation, merging: Bool, _ change: String) -> String {
        lastSequence += 1
        let known = records[key(operation)]
        var fields = merging ? known?.fields ?? [] : []
        for (name, json) in operation.fields {
            let place = fields.firstIndex { $0.name == name }
            switch (place, json) {
            case (let place?, let json?): fields[place].json = json
            case (let place?, nil): fields.remove(at: place)
            case (nil, let json?): fields.append((name, json))
            case (nil, nil): break
            }
        }
        let type = operation.recordType ?? known?.type ?? ""
        records[key(operation)] = StoredRecord(type: type, fields: fields, sequence: lastSequence)
        return "\(change) \(RecordModel.text(fields))"
    }

    func tag(_ operation: Operation) -> String? { records[key(operation)].map { String($0.sequence, radix: 36) } }

    private func key(_ operation: Operation) -> String { "\(operation.zone)/\(operation.name)" }

    static func text(_ fields: [(name: String, json: String)]) -> String {
        "{" + fields.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ",") + "}"
    }
}

extension RecordModel.Command {
    /// The command's line.
    var line: String {
        switch self {
        case .modify(let operations): Example.modify(operations.map(\.json))
        case .save(let operation):
            Example.save(
                operation.name, type: operation.recordType ?? "", fields: operation.fieldsText, zone: operation.zone)
        case .delete(let operation):
            Example.delete(operation.name, type: operation.recordType, zone: operation.zone)
        case .zoneSave(let zone): Example.zone("save", zone)
        case .zoneDelete(let zone): Example.zone("delete", zone)
        }
    }
}

extension RecordModel.Operation {
    fileprivate var json: String {
        Example.operation(type, name, type: recordType, tag: tag, zone: zone, fields: fieldsText)
    }

    fileprivate var fieldsText: String {
        RecordModel.text(fields.map { ($0.name, $0.json ?? #"{"value":null}"#) })
    }
}

// MARK: - Random commands

extension RecordModel {
    /// A command that is likely to be accepted.
    func randomCommand(_ draw: inout Seeded) -> Command {
        let zone = draw.one(of: ["Notes", "Other", "_defaultZone"])
        switch draw.below(20) {
        case 0: return .zoneSave(draw.one(of: ["Notes", "Other"]))
        case 1: return .zoneDelete(draw.one(of: ["Notes", "Other"]))
        case 2, 3, 4, 5: return .save(operation("create", zone, "n\(draw.below(6))", allowsNulls: false, &draw))
        case 6, 7:
            var operation = operation("delete", zone, "n\(draw.below(6))", &draw)
            if draw.isOneIn(2) { operation.recordType = nil }
            return .delete(operation)
        default:
            let names = (0..<6).shuffled(using: &draw).prefix(1 + draw.below(3))
            return .modify(names.map { modification(zone, "n\($0)", &draw) })
        }
    }

    private func modification(_ zone: String, _ name: String, _ draw: inout Seeded) -> Operation {
        var operation = operation("", zone, name, &draw)
        let exists = tag(operation) != nil
        let likely =
            exists ? ["update", "replace", "delete", "forceUpdate"] : ["create", "forceUpdate", "forceReplace"]
        operation.type = draw.one(of: draw.isOneIn(6) ? likely + ["create", "update", "forceDelete"] : likely)
        let isDelete = operation.type.lowercased().hasSuffix("delete")
        if isDelete { operation.fields = [] }
        if draw.isOneIn(3), isDelete || operation.type == "update" || operation.type == "replace" {
            operation.recordType = nil
        }
        if !draw.isOneIn(8) { operation.tag = tag(operation) }
        if draw.isOneIn(4), !isDelete {
            let target = "n\(draw.below(6))"
            operation.target = target
            operation.fields.append(
                ("to", #"{"value":{"recordName":"\#(target)","action":"VALIDATE"},"type":"REFERENCE"}"#))
        }
        return operation
    }

    private func operation(
        _ type: String, _ zone: String, _ name: String, allowsNulls: Bool = true, _ draw: inout Seeded
    ) -> Operation {
        let fields = ["a", "b", "c"].filter { _ in draw.isOneIn(2) }.map { name -> (name: String, json: String?) in
            (name, allowsNulls && draw.isOneIn(3) ? nil : #"{"value":\#(draw.below(9))}"#)
        }
        return Operation(
            type: type, zone: zone, name: name, recordType: draw.isOneIn(12) ? "Task" : "Note", tag: nil,
            fields: fields, target: nil)
    }
}
