import Events
import JSON
import Predicates

/// Writes an ingest command with its personal strings replaced. The app's own names stay: containers, types, fields,
/// subscriptions, localization keys, sounds and topics.
struct CommandText {
    let disguise: Disguise

    private static let reserved: Set<String> = ["_defaultZone", "_defaultOwner", "__defaultOwner__"]
    private static let names: Set<String> = Set(([.user, .owner, .device] as [Member]).map(\.description))
    /// The members of a record that Belfry uses. Other members come from CloudKit's answers and are left out.
    private static let recordMembers: Set<String> = [
        "recordName", "recordType", "zoneID", "fields", "created", "modified", "recordChangeTag",
    ]
    /// The members of `notificationInfo` that are replaced.
    private static let personalInfo: Set<String> = ["alertBody", "title", "subtitle", "collapseIDKey"]

    func write(_ command: JSONValue, leavingOut: Set<String> = [], into buffer: inout ByteBuffer) {
        object(command, into: &buffer) { key, value, buffer in
            guard !leavingOut.contains(key) else { return false }
            switch key {
            case _ where CommandText.names.contains(key): text(value, into: &buffer)
            case "token": token(value, into: &buffer)
            case "origin": eachText(of: value, into: &buffer)
            case "record": record(value, into: &buffer)
            case "before": fields(value, into: &buffer)
            case "subscription": subscription(value, into: &buffer)
            default: buffer.append(value.raw)
            }
            return true
        }
    }

    private func record(_ record: JSONValue, into buffer: inout ByteBuffer) {
        object(record, into: &buffer) { key, value, buffer in
            guard CommandText.recordMembers.contains(key) else { return false }
            switch key {
            case "recordName", "recordChangeTag": text(value, into: &buffer)
            case "created", "modified": eachText(of: value, into: &buffer)
            case "zoneID": eachText(of: value, into: &buffer)
            case "fields": fields(value, into: &buffer)
            default: buffer.append(value.raw)
            }
            return true
        }
    }

    private func subscription(_ subscription: JSONValue, into buffer: inout ByteBuffer) {
        members(subscription, into: &buffer) { key, value, buffer in
            switch key {
            case "zoneID": eachText(of: value, into: &buffer)
            case "query": query(value, into: &buffer)
            case "notificationInfo":
                members(value, into: &buffer) { key, value, buffer in
                    CommandText.personalInfo.contains(key) ? text(value, into: &buffer) : buffer.append(value.raw)
                }
            default: buffer.append(value.raw)
            }
        }
    }
}

// MARK: - Fields and predicates

extension CommandText {
    private func fields(_ fields: JSONValue, into buffer: inout ByteBuffer) {
        members(fields, into: &buffer) { _, field, buffer in
            members(field, into: &buffer) { key, value, buffer in
                key == "type" ? buffer.append(value.raw) : self.value(value, into: &buffer)
            }
        }
    }

    /// Replaces strings at any depth, except the `action` of a reference.
    private func value(_ value: JSONValue, into buffer: inout ByteBuffer) {
        switch value.kind {
        case .string: text(value, into: &buffer)
        case .array:
            buffer.list(value.elements) { self.value($1, into: &$0) }
        case .object:
            members(value, into: &buffer) { key, value, buffer in
                key == "action" ? buffer.append(value.raw) : self.value(value, into: &buffer)
            }
        default: buffer.append(value.raw)
        }
    }

    private func query(_ query: JSONValue, into buffer: inout ByteBuffer) {
        members(query, into: &buffer) { key, value, buffer in
            switch key {
            case "predicate": predicate(value, into: &buffer)
            case "filterBy": filters(value, into: &buffer)
            case "arguments": arguments(value, of: query[.predicate]?.string ?? "", into: &buffer)
            default: buffer.append(value.raw)
            }
        }
    }

    private func predicate(_ predicate: JSONValue, into buffer: inout ByteBuffer) {
        let text = predicate.string ?? ""
        do throws(PredicateError) {
            buffer.appendJSON(try RecordPredicate.replacingStrings(in: text, disguise.text))
        } catch {
            // This build cannot read the predicate, so ingest rejects the command anyway. An empty predicate contains
            // no personal strings.
            buffer.append("\"\"")
        }
    }

    /// Keeps the names of fields, which are the arguments of `%K`.
    private func arguments(_ arguments: JSONValue, of predicate: String, into buffer: inout ByteBuffer) {
        let names = RecordPredicate.namePlaceholders(in: predicate)
        buffer.list(arguments.elements.enumerated()) { buffer, argument in
            names.contains(argument.offset)
                ? buffer.append(argument.element.raw) : fieldValue(argument.element, into: &buffer)
        }
    }

    private func fieldValue(_ fieldValue: JSONValue, into buffer: inout ByteBuffer) {
        guard fieldValue.isObject, fieldValue["value"] != nil else { return value(fieldValue, into: &buffer) }
        // A TIMESTAMP is a number or the string `now()`, so it is not personal.
        guard fieldValue[.type]?.equals("TIMESTAMP") != true else { return buffer.append(fieldValue.raw) }
        members(fieldValue, into: &buffer) { key, value, buffer in
            key == "type" ? buffer.append(value.raw) : self.value(value, into: &buffer)
        }
    }

    private func filters(_ filters: JSONValue, into buffer: inout ByteBuffer) {
        buffer.list(filters.elements) { buffer, filter in
            members(filter, into: &buffer) { key, value, buffer in
                key == "fieldValue" ? fieldValue(value, into: &buffer) : buffer.append(value.raw)
            }
        }
    }
}

// MARK: - JSON

extension CommandText {
    private func text(_ value: JSONValue, into buffer: inout ByteBuffer) {
        guard let text = value.string else { return buffer.append(value.raw) }
        buffer.appendJSON(CommandText.reserved.contains(text) ? text : disguise.text(text))
    }

    private func token(_ value: JSONValue, into buffer: inout ByteBuffer) {
        guard let token = value.string else { return buffer.append(value.raw) }
        buffer.appendJSON(disguise.token(token))
    }

    private func eachText(of value: JSONValue, into buffer: inout ByteBuffer) {
        members(value, into: &buffer) { _, value, buffer in text(value, into: &buffer) }
    }

    private func members(
        _ object: JSONValue, into buffer: inout ByteBuffer, _ write: (String, JSONValue, inout ByteBuffer) -> Void
    ) {
        self.object(object, into: &buffer) { key, value, buffer in
            write(key, value, &buffer)
            return true
        }
    }

    /// - Parameter write: Appends the value of a member, or returns false to leave the member out.
    private func object(
        _ object: JSONValue, into buffer: inout ByteBuffer, _ write: (String, JSONValue, inout ByteBuffer) -> Bool
    ) {
        buffer.rewrite(object) { write($0.string ?? "", $1, &$2) }
    }
}
