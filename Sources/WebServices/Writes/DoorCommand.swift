import CloudKitModel
import Events
import JSON
import RecordStore

/// The database of a command: the members `container`, `environment`, `database` and `owner` of the line.
struct CommandDatabase: Hashable, Sendable {
    let container: String
    let environment: ContainerEnvironment
    let scope: DatabaseScope
    /// The user whose database it is; nil for the public database.
    let owner: String?
}

/// Who makes a change.
struct Origin: Hashable, Sendable {
    /// The user's record name.
    let user: String
    /// The device that makes the change; nil if the client names no device. The device gets no push for the change.
    let device: String?
}

/// Writes the gateway's commands for ingest's door, each as one JSON object. An object may contain line feeds of the
/// client's JSON, which ``PendingLine`` replaces.
struct DoorCommand {
    let database: CommandDatabase
    /// Nil for a delete that the gateway itself sends (``CascadedDeletes``).
    let origin: Origin?
    /// The request ID that ingest copies to the events.
    let request: String

    /// - Parameter operations: The operations as JSON objects, separated by commas.
    func modify(_ operations: [UInt8]) -> [UInt8] {
        line(CommandName.recordsModify) { json in
            appendDatabase(&json)
            appendOrigin(&json)
            json.append(member: .operations)
            json.append("[")
            operations.withUnsafeBytes { json.append($0) }
            json.append("]")
        }
    }

    /// The command that deletes a record if its newest save is still the save that `record` names.
    func delete(_ record: RecordAddress) -> [UInt8] {
        let operation = ByteBuffer.object { json in
            json.append(.operationType, word: OperationType.delete.word)
            json.append(member: .record)
            json.object { json in
                json.append(.recordName, record.name)
                json.append(.recordChangeTag, ChangeTag(sequence: record.sequence).text)
                json.append(member: .zoneID)
                record.zone.write(to: &json, in: record.database)
            }
        }
        return modify(Array(operation.bytes))
    }

    /// The command that saves or deletes a zone.
    func zone(_ zone: ZoneID, isDelete: Bool) -> [UInt8] {
        line(isDelete ? EventName.zoneDelete : EventName.zoneSave) { json in
            appendDatabase(&json)
            json.append(zone)
        }
    }

    /// - Parameter subscription: The subscription dictionary as JSON text.
    func save(subscription: String) -> [UInt8] {
        line(EventName.subscriptionSave) { json in
            json.append(.database, word: database.scope.word)
            json.append(.user, origin?.user)
            json.append(.subscription, raw: subscription)
        }
    }

    func delete(subscription id: String) -> [UInt8] {
        line(EventName.subscriptionDelete) { json in
            json.append(.database, word: database.scope.word)
            json.append(.user, origin?.user)
            json.append(.subscriptionID, id)
        }
    }

    func register(device: String, transport: String, token: String, topic: String) -> [UInt8] {
        line(EventName.deviceRegister) { json in
            json.append(.user, origin?.user)
            json.append(.device, device)
            json.append(.transport, transport)
            json.append(.token, token)
            json.append(.topic, topic)
        }
    }

    func unregister(device: String) -> [UInt8] {
        line(EventName.deviceUnregister) { json in
            json.append(.user, origin?.user)
            json.append(.device, device)
        }
    }

    private func line(_ type: StaticString, _ members: (inout ByteBuffer) -> Void) -> [UInt8] {
        var json = ByteBuffer(capacity: 1024)
        json.begin(event: type)
        json.append(.container, database.container)
        json.append(.environment, word: database.environment.word)
        json.append(.request, request)
        members(&json)
        json.append("}")
        return Array(json.bytes)
    }

    private func appendDatabase(_ json: inout ByteBuffer) {
        json.append(.database, word: database.scope.word)
        json.append(.owner, database.owner)
    }

    private func appendOrigin(_ json: inout ByteBuffer) {
        guard let origin else { return }
        json.append(member: .origin)
        json.object { json in
            json.append(.user, origin.user)
            json.append(.device, origin.device)
        }
    }
}

extension ByteBuffer {
    /// Appends `zoneID` with the members that the model knows; nothing for nil.
    mutating func append(_ zone: ZoneID?) {
        guard let zone else { return }
        append(member: .zoneID)
        object { json in
            json.append(.zoneName, zone.zoneName)
            json.append(.ownerRecordName, zone.owner)
        }
    }
}

/// Makes lines for the door, each with a request ID of its own.
struct LineMaker {
    let database: CommandDatabase
    let origin: Origin
    let newRequestID: () -> String

    func make(_ write: (DoorCommand) -> [UInt8]) -> PendingLine {
        let id = newRequestID()
        return PendingLine(
            id: id, of: .user(origin.user, container: database.container),
            bytes: write(DoorCommand(database: database, origin: origin, request: id)))
    }
}
