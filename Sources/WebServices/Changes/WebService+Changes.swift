import Events
import JSON
import RecordStore

/// What changed since a sync token: CKFetchRecordZoneChangesOperation and CKFetchDatabaseChangesOperation.
extension WebService {
    /// `records/changes`, for one zone.
    func changesOfZone(
        _ request: ServiceRequest, _ session: Session, _ readLimit: ReadLimit
    ) throws(ServiceError) -> ServiceAnswer {
        var body = RequestBody()
        let zoneRequest = try body.read(request.body) { json throws(ServiceError) in
            try ZoneChangesRequest(json, assetURL(for: request))
        }
        let page = try zoneRequest.page(store, session.databaseID, limit: zoneRequest.limit, within: readLimit)
        return .object { json in zoneRequest.write(page, into: &json) }
    }

    /// `changes/zone`, for several zones. If the changes of one zone cannot be read, the answer has an error for this
    /// zone, and the changes of the other zones.
    func changesOfZones(
        _ request: ServiceRequest, _ session: Session, _ readLimit: ReadLimit
    ) throws(ServiceError) -> ServiceAnswer {
        var body = RequestBody()
        let (zoneRequests, limit) = try body.read(request.body) { json throws(ServiceError) in
            let assetURL = assetURL(for: request)
            let zoneRequests = try json.items("zones") { zone throws(ServiceError) in
                try ZoneChangesRequest(zone, assetURL)
            }
            return (zoneRequests, try json.optionalCount("resultsLimit", atMost: RecordStore.changesMax))
        }
        let database = session.databaseID
        // Apple's limit is "200 records/response". So it applies to all zones together, as does the limit of bytes.
        var (left, bytesLeft) = (limit ?? RecordStore.changesMax, store.answerBytesMax)
        return .object { json in
            json.append("zones", zoneRequests) { json, zoneRequest in
                json.object { json in
                    json.append(member: .zoneID)
                    zoneRequest.zone.write(to: &json, in: database)
                    do throws(ServiceError) {
                        let page = try zoneRequest.page(
                            store, database, limit: min(left, zoneRequest.limit), bytesMax: bytesLeft, within: readLimit
                        )
                        left -= page.records.count
                        bytesLeft -= page.records.reduce(0) { $0 + ($1.fields?.count ?? 0) }
                        if bytesLeft <= 0 { left = 0 }
                        zoneRequest.write(page, into: &json)
                    } catch { error.write(into: &json, uuid: request.id) }
                }
            }
        }
    }

    /// `changes/database`, and `zones/changes`, its older form.
    func changesOfDatabase(
        _ request: ServiceRequest, _ session: Session, _ operation: Operation, _ readLimit: ReadLimit
    ) throws(ServiceError) -> ServiceAnswer {
        var body = RequestBody()
        let (token, limit) = try body.read(request.body) { json throws(ServiceError) in
            let (token, older) = (try json.optionalText("syncToken"), try json.optionalText("metaSyncToken"))
            return (token ?? older, try json.optionalCount("resultsLimit", atMost: RecordStore.changesMax))
        }
        let database = session.databaseID
        let page = try ServiceError.ofReading { () throws(RecordReadError) in
            try store.databaseChanges(
                in: database, since: token, limit: limit ?? RecordStore.changesMax, within: readLimit)
        }
        return .object { json in
            json.append("zones", page.zones) { json, zone in
                json.object { json in
                    json.append(member: .zoneID)
                    zone.key.write(to: &json, in: database)
                    if zone.isDeleted { json.append("deleted", true) }
                }
            }
            json.append("syncToken", page.token)
            if operation == .zonesChanges { json.append("metaSyncToken", page.token) }
            json.append("moreComing", page.moreComing)
        }
    }
}

/// A request for the changes of a zone.
private struct ZoneChangesRequest {
    let zone: ZoneKey
    let limit: Int
    private let token: String?
    private let recordTypes: Set<String>?
    private let isReverse: Bool
    private let options: RecordOptions

    init(_ json: JSONValue, _ assetURL: @escaping RecordDictionaries.AssetURL) throws(ServiceError) {
        guard let zone = try json.zone else { throw .bad("zoneID: is required") }
        self.zone = zone
        limit = try json.optionalCount("resultsLimit", atMost: RecordStore.changesMax) ?? RecordStore.changesMax
        token = try json.optionalText("syncToken")
        recordTypes = try json.optionalTexts("desiredRecordTypes").map(Set.init)
        isReverse = try json.optionalFlag("reverse") ?? false
        options = try RecordOptions(json, assetURL)
    }

    func page(
        _ store: RecordStore, _ database: DatabaseID, limit: Int, bytesMax: Int? = nil, within readLimit: ReadLimit
    ) throws(ServiceError) -> ChangesPage {
        try ServiceError.ofReading { () throws(RecordReadError) in
            try store.changes(
                of: zone, in: database, since: token, limit: limit, bytesMax: bytesMax, recordTypes: recordTypes,
                isReverse: isReverse, within: readLimit)
        }
    }

    func write(_ page: ChangesPage, into json: inout ByteBuffer) {
        options.write(page.records, into: &json)
        json.append("syncToken", page.token)
        json.append("moreComing", page.moreComing)
    }
}
