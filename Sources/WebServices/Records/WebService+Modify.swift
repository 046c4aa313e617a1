import CloudKitModel
import Events
import JSON
import PipelineRuntime
import RecordStore

extension WebService {
    /// `records/modify`.
    func modifyRecords(_ request: ServiceRequest, _ session: Session) async throws(ServiceError) -> ServiceAnswer {
        let lineMaker = try session.lineMaker(ids)
        let assets = AssetValues(
            tickets: tickets, files: assets, store: store, database: session.databaseID, now: request.now)
        var body = RequestBody()
        let modify = try body.read(request.body) { json throws(ServiceError) in
            try ModifyRequest(json, assets, in: session.database, newName: ids.newUUID)
        }
        let results = try await limitingReferences(modify, request, session) { lines throws(ServiceError) in
            session.database == .public
                ? try await writeAsCreator(modify, lines.map(\.lowerBound), lineMaker, session)
                : try await write(try modify.lines(lines, lineMaker), by: .now + settings.writeTimeout)
        }
        return ModifyAnswer(modify, results, session.databaseID, assetURL(for: request), uuid: request.id).answer
    }

    /// Writes the lines, and waits for them until `deadline`.
    func write(
        _ lines: [PendingLine], by deadline: ContinuousClock.Instant
    ) async throws(ServiceError) -> [PendingWrites<AppliedRequest>.Result] {
        guard !lines.isEmpty else { return [] }
        return try await writes.write(lines, until: deadline).throwingIfAllUnknownOrNotSent()
    }
}

extension ModifyRequest {
    fileprivate func lines(
        _ lines: [Range<Int>], _ lineMaker: LineMaker
    ) throws(ServiceError) -> [PendingLine] {
        try lines.map { operations throws(ServiceError) in try line(operations, lineMaker) }
    }

    /// - Parameter found: What the gateway found at the addresses of the operations, by their indexes in ``items``.
    /// - Throws: `QUOTA_EXCEEDED` if the line is longer than ingest accepts.
    func line(
        _ operations: Range<Int>, _ lineMaker: LineMaker, after found: [Int: OperationText.Found] = [:]
    ) throws(ServiceError) -> PendingLine {
        var text = ByteBuffer()
        for index in operations {
            if index > operations.lowerBound { text.append(byte: UInt8(ascii: ",")) }
            items[index].text.append(to: &text, after: found[index])
        }
        let line = lineMaker.make { $0.modify(Array(text.bytes)) }
        guard line.bytes.count <= DoorLimits.modifyBytesMax else {
            throw ServiceError(
                .quotaExceeded,
                "operations: an operation, or an atomic request's operations together, have more than "
                    + "\(DoorLimits.modifyBytesMax) bytes; make the operations smaller, or send several requests")
        }
        return line
    }
}

/// Writes the answer to `records/modify`: a record, or an error in its place, for each operation.
private struct ModifyAnswer {
    private let modify: ModifyRequest
    private let results: [PendingWrites<AppliedRequest>.Result]
    private let database: DatabaseID
    private let assetURL: RecordDictionaries.AssetURL
    /// The ID of the request.
    private let uuid: String

    init(
        _ modify: ModifyRequest, _ results: [PendingWrites<AppliedRequest>.Result], _ database: DatabaseID,
        _ assetURL: @escaping RecordDictionaries.AssetURL, uuid: String
    ) {
        (self.modify, self.results, self.database, self.assetURL) = (modify, results, database, assetURL)
        self.uuid = uuid
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
            error.write(into: &json, uuid: uuid)
        }
    }

    /// The error of an operation whose line was refused. The refusal names the operation that broke a rule, unless the
    /// line as a whole broke it. The line's other operations did not happen either.
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
    /// A refusal in CloudKit's terms. The codes `record.owner`, `record.busy`, `reference.too_many` and
    /// `write.not_sent` come from the gateway, `record.missing` from the gateway or the door, and all other codes from
    /// the door.
    init<ID, Event>(_ refusal: WriteLedger<ID, Event>.Refusal) {
        let place = refusal.path.replacing(/^operations\[[0-9]+\]\.?/, with: "")
        // The door's reason may name a command of producers. A client of the gateway needs a request instead.
        let text = refusal.reason.replacing("save it with zone.save first", with: "create it with zones/modify first")
        let reason = place.isEmpty ? text : "\(place): \(text)"
        let code = Self.serverErrorCode(forRefusal: refusal.code)
        self.init(code, reason, retryAfter: code == .tryAgainLater ? 1 : nil)
    }

    private static func serverErrorCode(forRefusal code: String) -> ServerErrorCode {
        switch code {
        case "record.exists", "record.conflict": .conflict
        case "record.owner": .accessDenied
        case "record.busy", "write.not_sent": .tryAgainLater
        case "record.missing": .notFound
        case "zone.missing": .zoneNotFound
        case "reference.missing": .validatingReferenceError
        case "record.too_large", "json.too_long", "reference.too_many": .quotaExceeded
        default: .badRequest
        }
    }
}
