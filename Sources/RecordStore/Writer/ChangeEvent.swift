import Events
import GRDB
import JSON
import Time

/// An event that is being applied. Valid only while its line is in memory.
struct ChangeEvent {
    let event: JSONValue
    let sequence: UInt64
    let now: Instant
    let db: Database
    let statements: WriterStatements

    /// Whether the event's command named a request. A client may wait for such an event.
    var hasRequest: Bool { event[.request]?.isString == true }

    /// The time of the event in milliseconds since 1970.
    var milliseconds: Int64 { now.microseconds / 1_000 }

    /// - Parameter object: The part of the event that must have the member; nil for the event itself.
    /// - Throws: ``RecordStoreError/badEvent(sequence:reason:)`` if the member is missing.
    func required(_ member: Member, in object: JSONValue? = nil) throws -> JSONValue {
        guard let value = (object ?? event)[member] else { throw bad("the member \"\(member)\" is missing") }
        return value
    }

    func requiredText(_ member: Member, in object: JSONValue? = nil) throws -> JSONValue {
        let value = try required(member, in: object)
        guard value.isString else { throw bad("the member \"\(member)\" is not a string") }
        return value
    }

    private func bad(_ reason: String) -> RecordStoreError { .badEvent(sequence: sequence, reason: reason) }

    /// The time of the event, and the user and device of its `origin`. If the origin names no user, the user is the
    /// owner of the database.
    var stamp: RecordStamp {
        let origin = event[.origin]
        return RecordStamp(
            milliseconds: milliseconds, user: (origin?[.user] ?? event[.owner])?.string,
            device: origin?[.device]?.string)
    }

    /// The same values as ``stamp``, as parameters of a statement. Makes no Swift strings.
    var stampValues: [SQLValue] {
        let origin = event[.origin]
        return [.int(milliseconds), .json(origin?[.user] ?? event[.owner]), .json(origin?[.device])]
    }

    func appliedRequest(_ request: String, type: JSONValue, saved: StoredRecord?) -> AppliedRequest {
        let record = event[.record]
        let name =
            record?[.recordName] ?? event[.subscription]?[.subscriptionID] ?? event[.subscriptionID] ?? event[.device]
        let hasZone = record != nil || event[.zoneID] != nil
        return AppliedRequest(
            sequence: sequence, request: request, type: type.string ?? "",
            zone: hasZone ? ZoneKey((record ?? event)[.zoneID]) : nil, name: name?.string, record: saved)
    }
}
