import Events
import JSON
import RecordStore

extension WebService {
    /// `subscriptions/modify`.
    func modifySubscriptions(
        _ request: ServiceRequest, _ session: Session
    ) async throws(ServiceError) -> ServiceAnswer {
        let lineMaker = try session.lineMaker(ids)
        var body = RequestBody()
        let modify = try body.read(request.body) { json throws(ServiceError) in
            try SubscriptionsModifyRequest(json, lineMaker, newID: ids.newUUID)
        }
        let account = try session.account()
        let errors = try await inTurn(of: account) { () async throws(ServiceError) in
            let refusals = try await refusals { () throws(ServiceError) in
                try ServiceError.ofStore { () throws(RecordStoreError) in
                    modify.refusals(
                        try store.savedSubscriptions(
                            among: modify.items.map(\.subscriptionID), of: account, in: session.database),
                        zones: try zones(of: modify, session))
                }
            }
            return try await write(modify.items.map(\.line), except: refusals)
        }
        return .object { json in
            json.append("subscriptions", zip(modify.items, errors)) { json, item in
                Self.write(item.0, item.1, request, into: &json)
            }
        }
    }

    /// The zones that exist, of those that the subscriptions name. A gateway knows the zones of private databases. In
    /// another database, a zone counts as one that exists.
    private func zones(
        of modify: SubscriptionsModifyRequest, _ session: Session
    ) throws(RecordStoreError) -> Set<ZoneKey> {
        guard session.database == .private else { return Set(modify.zones) }
        return try store.savedZones(among: modify.zones, in: session.databaseID).known
    }

    /// - Parameter error: Why the operation failed; nil if it succeeded.
    private static func write(
        _ item: SubscriptionsModifyRequest.Item, _ error: ServiceError?, _ request: ServiceRequest,
        into json: inout ByteBuffer
    ) {
        if let error { return write(error, of: item.subscriptionID, request, into: &json) }
        guard item.operation == .delete else { return json.append(raw: item.subscription) }
        json.object { json in
            json.append(.subscriptionID, item.subscriptionID)
            json.append("deleted", true)
        }
    }

    private static func write(
        _ error: ServiceError, of subscriptionID: String, _ request: ServiceRequest, into json: inout ByteBuffer
    ) {
        json.object { json in
            json.append(.subscriptionID, subscriptionID)
            error.write(into: &json, uuid: request.id)
        }
    }
}

// MARK: - Reading

extension WebService {
    /// `subscriptions/list`.
    func listSubscriptions(_ session: Session) throws(ServiceError) -> ServiceAnswer {
        let account = try session.account()
        let subscriptions = try Self.ofSubscriptions(
            tooLong: "look up single subscriptions with subscriptions/lookup, or delete some"
        ) { () throws(RecordReadError) in
            try store.subscriptions(of: account, in: session.database)
        }
        return .object { json in
            json.append("subscriptions", subscriptions) { json, saved in json.append(saved) }
        }
    }

    /// `subscriptions/lookup`. Some clients send IDs in place of dictionaries.
    func lookUpSubscriptions(_ request: ServiceRequest, _ session: Session) throws(ServiceError) -> ServiceAnswer {
        var body = RequestBody()
        let wanted = try body.read(request.body) { json throws(ServiceError) in
            try json.items("subscriptions") { item throws(ServiceError) in
                if let id = item.string { return id }
                guard let id = try item.optionalText(.subscriptionID) else {
                    throw .bad("subscriptionID: is required")
                }
                return id
            }
        }
        let account = try session.account()
        let found = try Self.ofSubscriptions(tooLong: "look up fewer at once") { () throws(RecordReadError) in
            try store.subscriptions(withIDs: wanted, of: account, in: session.database)
        }
        return .object { json in
            json.append("subscriptions", zip(wanted, found)) { json, item in
                if let saved = item.1 { return json.append(saved) }
                let error = ServiceError(.notFound, "the user has no subscription with this ID in this database")
                Self.write(error, of: item.0, request, into: &json)
            }
        }
    }

    /// Runs `body`, and throws its error as the error that the client gets. Subscriptions from other producers than the
    /// gateways, or from before the gateway had limits, may be too long for one answer.
    ///
    /// - Parameter advice: What the client can do if the subscriptions are too long.
    private static func ofSubscriptions<Result>(
        tooLong advice: String, _ body: () throws(RecordReadError) -> Result
    ) throws(ServiceError) -> Result {
        do { return try body() } catch {
            guard case .answerTooLong(let bytesMax) = error else { throw ServiceError(error) }
            throw ServiceError(
                .quotaExceeded, "subscriptions: they have more than \(bytesMax) bytes together; \(advice)")
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ subscription: StoredSubscription) {
        subscription.body.withUnsafeBytes { append($0) }
    }
}
