import CloudKitModel
import Events
import JSON
import Predicates
import RecordStore

extension WebService {
    /// `records/query`.
    func queryRecords(
        _ request: ServiceRequest, _ session: Session, _ readLimit: ReadLimit
    ) throws(ServiceError) -> ServiceAnswer {
        var body = RequestBody()
        let (query, options, zone) = try body.read(request.body) { json throws(ServiceError) in
            guard let query = json[.query] else { throw .bad("query: is required: send an object with a recordType") }
            let isZoneWide = try json.optionalFlag(.zoneWide) ?? false
            guard !isZoneWide || json[.zoneID] == nil else {
                throw .bad("zoneWide: the request has zoneWide and a zoneID; send only one of them")
            }
            let options = try RecordOptions(json, assetURL(for: request))
            let limit = try json.optionalCount("resultsLimit", atMost: RecordQuery.resultsMax)
            let marker = try json.optionalText("continuationMarker")
            do throws(QueryRefusal) {
                let query = try RecordQuery(
                    query, in: isZoneWide ? .all : .one(options.zone),
                    limit: limit, marker: marker, reader: predicates)
                return (query, options, isZoneWide ? nil : options.zone)
            } catch { throw ServiceError.bad("\(error.path): \(error.reason)") }
        }
        let token = try zone.flatMap { zone throws(ServiceError) in try currentToken(of: zone, request, session) }
        let page = try ServiceError.ofReading { () throws(RecordReadError) in
            try store.query(query, in: session.databaseID, now: request.now, within: readLimit)
        }
        return .object { json in
            options.write(page.records, into: &json)
            json.append("continuationMarker", page.marker)
            json.append("syncToken", token)
        }
    }

    /// A token for the changes after this read. Nil in the public database, and nil if the client does not ask for the
    /// token with `getCurrentSyncToken=true` in the query of the URL.
    ///
    /// The token is made before the read. So a change between the token and the read is read twice, not missed.
    private func currentToken(
        of zone: ZoneKey, _ request: ServiceRequest, _ session: Session
    ) throws(ServiceError) -> String? {
        guard session.database != .public, request.parameter("getCurrentSyncToken")?.lowercased() == "true" else {
            return nil
        }
        return try ServiceError.ofReading { () throws(RecordReadError) in
            try store.changeToken(of: zone, in: session.databaseID)
        }
    }

    /// Reads the predicates of queries.
    private var predicates: PredicateReader {
        PredicateReader(settings.predicates == .extended ? .extended : .cloudKit)
    }

    /// `records/lookup`.
    func lookUpRecords(_ request: ServiceRequest, _ session: Session) throws(ServiceError) -> ServiceAnswer {
        var body = RequestBody()
        let (names, options) = try body.read(request.body) { json throws(ServiceError) in
            let names = try json.items("records") { item throws(ServiceError) in
                guard let name = try item.optionalText(.recordName) else { throw .bad("recordName: is required") }
                return (name: name, desiredKeys: try item.optionalTexts("desiredKeys"))
            }
            return (names, try RecordOptions(json, assetURL(for: request)))
        }
        let token = try currentToken(of: options.zone, request, session)
        let found = try ServiceError.ofReading { () throws(RecordReadError) in
            try store.records(named: names.map(\.name), in: options.zone, of: session.databaseID)
        }
        return .object { json in
            json.append("records", zip(names, found)) { json, item in
                guard let record = item.1 else {
                    return json.object { json in
                        json.append(.recordName, item.0.name)
                        ServiceError(.notFound, "the record does not exist").write(into: &json, uuid: request.id)
                    }
                }
                options.write(record, desiredKeys: item.0.desiredKeys, into: &json)
            }
            json.append("syncToken", token)
        }
    }
}

/// The members of a request that choose the zone, the fields and the form of records in the answer.
struct RecordOptions {
    let zone: ZoneKey
    private let desiredKeys: [String]?
    private let numbersAsStrings: Bool
    private let assetURL: RecordDictionaries.AssetURL

    init(_ json: JSONValue, _ assetURL: @escaping RecordDictionaries.AssetURL) throws(ServiceError) {
        self.assetURL = assetURL
        zone = try json.zone ?? .defaultZone
        desiredKeys = try json.optionalTexts("desiredKeys")
        numbersAsStrings = try json.optionalFlag("numbersAsStrings") ?? false
    }

    /// Appends `"records"`.
    func write(_ records: [StoredRecord], into json: inout ByteBuffer) {
        var dictionaries = dictionaries(desiredKeys)
        json.append(member: "records")
        json.append("[")
        for record in records {
            json.appendSeparator()
            dictionaries.append(record, to: &json)
        }
        json.append("]")
    }

    func write(_ record: StoredRecord, desiredKeys: [String]?, into json: inout ByteBuffer) {
        var dictionaries = dictionaries(desiredKeys ?? self.desiredKeys)
        dictionaries.append(record, to: &json)
    }

    private func dictionaries(_ desiredKeys: [String]?) -> RecordDictionaries {
        RecordDictionaries(desiredKeys: desiredKeys, numbersAsStrings: numbersAsStrings, assetURL: assetURL)
    }
}

extension JSONValue {
    /// The zone under `zoneID`; nil if the member is missing.
    var zone: ZoneKey? {
        get throws(ServiceError) {
            guard let zoneID = self[.zoneID] else { return nil }
            try ServiceError.check { () throws(ModelError) in
                try under(.zoneID) { () throws(ModelError) in _ = try ZoneID(zoneID) }
            }
            return ZoneKey(zoneID)
        }
    }
}

extension ServiceError {
    /// Runs `body`, and throws its error as the error that the client gets.
    static func ofReading<Result>(_ body: () throws(RecordReadError) -> Result) throws(ServiceError) -> Result {
        do { return try body() } catch { throw ServiceError(error) }
    }

    /// Runs `body`, and throws its error as the error that the client gets.
    static func ofStore<Result>(_ body: () throws(RecordStoreError) -> Result) throws(ServiceError) -> Result {
        do { return try body() } catch { throw ServiceError(.store(error)) }
    }

    init(_ error: RecordReadError) {
        switch error {
        case .zoneNotFound(let zone): self.init(.zoneNotFound, "there is no zone \(zone.name)")
        case .badToken: self = .bad("syncToken: this service did not issue it for this zone or database")
        case .tokenExpired(let expiry): self.init(.changeTokenExpired, "syncToken: \(expiry.reason); fetch without it")
        case .answerTooLong(let bytesMax):
            self = .bad("records: their fields have more than \(bytesMax) bytes together; look up fewer at once")
        case .badQuery(let refusal): self = .bad("\(refusal.path): \(refusal.reason)")
        case .cancelled:
            self.init(.tryAgainLater, "the gateway is stopping, or the client closed its connection", retryAfter: 1)
        case .tookTooLong(lacksIndex: true):
            self.init(
                .tryAgainLater, "\(Self.tookTooLong); an index that may make it faster is being built", retryAfter: 10)
        case .tookTooLong(lacksIndex: false):
            self = .bad(
                "\(Self.tookTooLong): set a smaller resultsLimit, name fewer zones, or filter by a field with EQUALS, IN, "
                    + "BEGINS_WITH, LESS_THAN or GREATER_THAN")
        case .store(let error):
            self.init(.tryAgainLater, "the gateway's store cannot be read: \(error)", retryAfter: 10)
        }
    }
}

extension ServiceError {
    private static let tookTooLong = "the read took longer than \(ReadThreads.timeMax.components.seconds) seconds"
}

extension TokenExpiry {
    fileprivate var reason: String {
        switch self {
        case .otherLog: "it belongs to another log"
        case .ahead: "it is ahead of the log"
        case .tooOld: "deletions after it are no longer stored"
        case .newZone: "the zone was deleted and created again"
        }
    }
}
