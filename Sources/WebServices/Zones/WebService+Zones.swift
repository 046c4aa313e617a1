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
        let results = try await writes.write(modify.items.map(\.line), until: .now + settings.writeTimeout)
            .throwingIfNoneKnown()
        let database = session.databaseID
        return .object { json in
            json.append("zones", zip(modify.items, results)) { json, item in
                json.object { json in
                    json.append(member: .zoneID)
                    item.0.zone.write(to: &json, in: database)
                    switch item.1 {
                    case .stored where item.0.isDelete: json.append("deleted", true)
                    case .stored: json.append("atomic", true)
                    case .refused(let refusal): ServiceError(refusal).write(into: &json, uuid: nil)
                    case .unknown: ServiceError.outcomeUnknown.write(into: &json, uuid: nil)
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
        let zones = try ServiceError.ofStore { () throws(RecordStoreError) in try store.zones(in: database) }
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
        let living = try ServiceError.ofStore { () throws(RecordStoreError) in Set(try store.zones(in: database)) }
        return .object { json in
            json.append("zones", wanted) { json, zone in
                guard !living.contains(zone) else { return Self.write(zone, of: database, into: &json) }
                json.object { json in
                    json.append(member: .zoneID)
                    zone.write(to: &json, in: database)
                    ServiceError(.zoneNotFound, "there is no zone \(zone.name)").write(into: &json, uuid: nil)
                }
            }
        }
    }

    private static func write(_ zone: ZoneKey, of database: DatabaseID, into json: inout ByteBuffer) {
        json.object { json in
            json.append(member: .zoneID)
            zone.write(to: &json, in: database)
            json.append("atomic", !zone.isDefault)
        }
    }
}
