import CloudKitModel
import Events
import JSON
import RecordStore

extension WebService {
    /// `zones/modify`.
    func modifyZones(_ request: ServiceRequest, _ session: Session) async throws(ServiceError) -> ServiceAnswer {
        let lineMaker = try session.lineMaker(ids)
        var body = RequestBody()
        let modify = try body.read(request.body) { json throws(ServiceError) in
            try ZonesModifyRequest(json, lineMaker)
        }
        let database = session.databaseID
        let errors = try await inTurn(of: try session.account()) { () async throws(ServiceError) in
            let refusals = try await refusals { () throws(ServiceError) in
                modify.refusals(in: database, try savedZones(among: modify.items.map(\.zone), in: database))
            }
            return try await write(modify.items.map(\.line), except: refusals)
        }
        return .object { json in
            json.append("zones", zip(modify.items, errors)) { json, item in
                json.object { json in
                    json.append(member: .zoneID)
                    item.0.zone.write(to: &json, in: database)
                    if let error = item.1 {
                        error.write(into: &json, uuid: request.id)
                    } else {
                        json.append(item.0.isDelete ? "deleted" : "atomic", true)
                    }
                }
            }
        }
    }
}

// MARK: - Reading

extension WebService {
    /// `zones/list`.
    func listZones(_ session: Session) throws(ServiceError) -> ServiceAnswer {
        let database = session.databaseID
        let zones: [ZoneKey]
        do throws(RecordReadError) { zones = try store.zones(in: database) } catch {
            guard case .answerTooLong(let bytesMax) = error else { throw ServiceError(error) }
            throw ServiceError(
                .quotaExceeded,
                "zones: they have more than \(bytesMax) bytes together; fetch them in pages with changes/database")
        }
        return .object { json in
            json.append("zones", zones) { json, zone in Self.write(zone, of: database, into: &json) }
        }
    }

    /// `zones/lookup`. Each item is a zone ID dictionary, or has one: `{"zoneID": …}`.
    func lookUpZones(_ request: ServiceRequest, _ session: Session) throws(ServiceError) -> ServiceAnswer {
        var body = RequestBody()
        let wanted = try body.read(request.body) { json throws(ServiceError) in
            try json.items("zones") { item throws(ServiceError) in
                if let zone = try item.zone { return zone }
                guard item[.zoneName] != nil else { throw .bad("zoneName: is required") }
                try ServiceError.check { () throws(ModelError) in _ = try ZoneID(item) }
                return ZoneKey(item)
            }
        }
        let database = session.databaseID
        let existing = try savedZones(among: wanted, in: database).known
        return .object { json in
            json.append("zones", wanted) { json, zone in
                guard !existing.contains(zone) else { return Self.write(zone, of: database, into: &json) }
                json.object { json in
                    json.append(member: .zoneID)
                    zone.write(to: &json, in: database)
                    ServiceError(.zoneNotFound, "there is no zone \(zone.name)").write(into: &json, uuid: request.id)
                }
            }
        }
    }

    private func savedZones(
        among zones: [ZoneKey], in database: DatabaseID
    ) throws(ServiceError) -> SavedItems<ZoneKey> {
        try ServiceError.ofStore { () throws(RecordStoreError) in try store.savedZones(among: zones, in: database) }
    }

    private static func write(_ zone: ZoneKey, of database: DatabaseID, into json: inout ByteBuffer) {
        json.object { json in
            json.append(member: .zoneID)
            zone.write(to: &json, in: database)
            json.append("atomic", !zone.isDefault)
        }
    }
}
