import CloudKitModel
import Events
import JSON
import PipelineRuntime
import RecordStore

extension WebService {
    /// `records/modify`.
    func modifyRecords(_ request: ServiceRequest, _ session: Session) async throws(ServiceError) -> ServiceAnswer {
        let lineMaker = try session.lineMaker(ids)
        let assets = AssetValues(tickets: tickets, store: store, database: session.databaseID)
        var body = RequestBody()
        let modify = try body.read(request.body) { json throws(ServiceError) in
            try ModifyRequest(json, assets, newName: ids.newUUID)
        }
        let pending = modify.lines.map { operations in lineMaker.make { $0.modify(operations) } }
        guard pending.allSatisfy({ $0.bytes.count <= DoorLimits.modifyBytesMax }) else {
            throw ServiceError(
                .quotaExceeded,
                "operations: an operation, or an atomic request's operations together, have more than "
                    + "\(DoorLimits.modifyBytesMax) bytes; make the operations smaller, or send several requests")
        }
        let denied = try await denials(of: modify, session)
        let allowed = pending.indices.filter { denied[$0] == nil }
        let written = try await write(allowed.map { pending[$0] })
        let found = Dictionary(uniqueKeysWithValues: zip(allowed, written))
        let results = pending.indices.map { found[$0] ?? denied[$0].map { .refused($0) } ?? .unknown }
        return ModifyAnswer(modify, results, session.databaseID, assetURL(for: request)).answer
    }

    private func write(_ lines: [PendingLine]) async throws(ServiceError) -> [PendingWrites<AppliedRequest>.Result] {
        guard !lines.isEmpty else { return [] }
        return try await writes.write(lines, until: .now + settings.writeTimeout).throwingIfNoneKnown()
    }
}

extension WebService {
    private typealias Refusal = WriteLedger<String, AppliedRequest>.Refusal

    /// The refusals, by index, of the lines that would change another user's record in the public database. There, only
    /// a record's creator may change the record, as in CloudKit's default security roles.
    private func denials(of modify: ModifyRequest, _ session: Session) async throws(ServiceError) -> [Int: Refusal] {
        let items = modify.items.filter { $0.operation != .create }
        guard session.database == .public, !items.isEmpty else { return [:] }
        try await waitForStore()
        let user = try session.account().user
        var denied: [Int: Refusal] = [:]
        for (zone, items) in Dictionary(grouping: items, by: \.zone) {
            for (item, record) in zip(items, try currentRecords(of: items, in: zone, session)) {
                guard let record, record.created.user != user, denied[item.line] == nil else { continue }
                denied[item.line] = Refusal(
                    code: "record.owner", path: "operations[\(item.indexInLine)]",
                    reason: "the user did not create the record; only its creator may change a record of the public "
                        + "database")
            }
        }
        return denied
    }

    /// The records that operations on one zone would change; nil for a record that does not exist.
    private func currentRecords(
        of items: [ModifyRequest.Item], in zone: ZoneKey, _ session: Session
    ) throws(ServiceError) -> [StoredRecord?] {
        do throws(RecordReadError) {
            return try store.records(named: items.map(\.recordName), in: zone, of: session.databaseID)
        } catch {
            // Ingest refuses operations on a zone that does not exist.
            if case .zoneNotFound = error { return items.map { _ in nil } }
            throw ServiceError(error)
        }
    }
}

/// Writes the answer to `records/modify`: a record, or an error in its place, for each operation.
private struct ModifyAnswer {
    private let modify: ModifyRequest
    private let results: [PendingWrites<AppliedRequest>.Result]
    private let database: DatabaseID
    private let assetURL: RecordDictionaries.AssetURL

    init(
        _ modify: ModifyRequest, _ results: [PendingWrites<AppliedRequest>.Result], _ database: DatabaseID,
        _ assetURL: @escaping RecordDictionaries.AssetURL
    ) {
        (self.modify, self.results, self.database, self.assetURL) = (modify, results, database, assetURL)
    }

    var answer: ServiceAnswer {
        .object { json in
            json.append("records", modify.items) { json, item in write(item, into: &json) }
        }
    }

    private func write(_ item: ModifyRequest.Item, into json: inout ByteBuffer) {
        switch results[item.line] {
        case .stored(let events): write(item, event: events.first { belongs($0, to: item) }, into: &json)
        case .refused(let refusal): write(item, error: error(of: item, refusal), into: &json)
        case .unknown: write(item, error: .outcomeUnknown, into: &json)
        }
    }

    private func belongs(_ event: AppliedRequest, to item: ModifyRequest.Item) -> Bool {
        event.name == item.recordName && event.zone == item.zone
    }

    private func write(_ item: ModifyRequest.Item, event: AppliedRequest?, into json: inout ByteBuffer) {
        if let record = event?.record {
            var dictionaries = RecordDictionaries(
                desiredKeys: item.desiredKeys, numbersAsStrings: modify.numbersAsStrings, assetURL: assetURL)
            return dictionaries.append(record, to: &json)
        }
        // A stored save always has an event. If this event is missing nevertheless, the client gets the error for an
        // unknown outcome.
        guard item.operation.isDelete else { return write(item, error: .outcomeUnknown, into: &json) }
        json.object { json in
            json.append(.recordName, item.recordName)
            json.append("deleted", true)
            json.append(member: .zoneID)
            item.zone.write(to: &json, in: database)
        }
    }

    private func write(_ item: ModifyRequest.Item, error: ServiceError, into json: inout ByteBuffer) {
        json.object { json in
            json.append(.recordName, item.recordName)
            error.write(into: &json, uuid: nil)
        }
    }

    /// The error of an operation whose line was refused. The refusal names the operation that caused it, unless the
    /// line as a whole is refused. The line's other operations did not happen either.
    private func error(
        of item: ModifyRequest.Item, _ refusal: WriteLedger<String, AppliedRequest>.Refusal
    ) -> ServiceError {
        guard let failed = refusal.operation, failed != item.indexInLine else { return ServiceError(refusal) }
        return ServiceError(.atomicError, "another operation of this atomic request failed: operations[\(failed)]")
    }
}

extension WriteLedger.Refusal {
    private static var operations: String { "operations[" }

    /// The index of the operation that broke a rule; nil if the line as a whole broke it.
    fileprivate var operation: Int? {
        guard path.hasPrefix(Self.operations) else { return nil }
        return Int(path.dropFirst(Self.operations.count).prefix { $0 != "]" })
    }
}

extension ServiceError {
    /// A refusal in CloudKit's terms. The code `record.owner` comes from the gateway, all other codes from the door.
    init<ID, Event>(_ refusal: WriteLedger<ID, Event>.Refusal) {
        let place = refusal.path.replacing(/^operations\[[0-9]+\]\.?/, with: "")
        // The reason may name a command of the door. Clients use the gateway's request in its place.
        let text = refusal.reason.replacing("save it with zone.save first", with: "create it with zones/modify first")
        let reason = place.isEmpty ? text : "\(place): \(text)"
        self.init(Self.serverErrorCode(forRefusal: refusal.code), reason)
    }

    private static func serverErrorCode(forRefusal code: String) -> ServerErrorCode {
        switch code {
        case "record.exists", "record.conflict": .conflict
        case "record.owner": .accessDenied
        case "write.not_sent": .tryAgainLater
        case "record.missing": .notFound
        case "zone.missing": .zoneNotFound
        case "reference.missing": .validatingReferenceError
        case "record.too_large", "json.too_long": .quotaExceeded
        default: .badRequest
        }
    }
}
