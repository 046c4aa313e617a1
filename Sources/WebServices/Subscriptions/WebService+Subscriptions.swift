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
        let results = try await writes.write(modify.items.map(\.line), until: .now + settings.writeTimeout)
            .throwingIfNoneKnown()
        return .object { json in
            json.append("subscriptions", zip(modify.items, results)) { json, item in
                write(item.0, item.1, into: &json)
            }
        }
    }

    private func write(
        _ item: SubscriptionsModifyRequest.Item, _ result: PendingWrites<AppliedRequest>.Result,
        into json: inout ByteBuffer
    ) {
        if case .stored = result, !item.isDelete { return json.append(raw: item.subscription) }
        json.object { json in
            json.append(.subscriptionID, item.subscriptionID)
            switch result {
            case .stored: json.append("deleted", true)
            case .refused(let refusal): ServiceError(refusal).write(into: &json, uuid: nil)
            case .unknown: ServiceError.outcomeUnknown.write(into: &json, uuid: nil)
            }
        }
    }
}

// MARK: - Reading

extension WebService {
    /// `subscriptions/list`.
    func listSubscriptions(_ session: Session) throws(ServiceError) -> ServiceAnswer {
        let subscriptions = try subscriptions(of: session)
        return .object { json in
            json.append("subscriptions", subscriptions) { json, saved in json.append(raw: saved.text) }
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
        let saved = Dictionary(try subscriptions(of: session).map { ($0.id, $0.text) }) { first, _ in first }
        return .object { json in
            json.append("subscriptions", wanted) { json, id in
                if let text = saved[id] { return json.append(raw: text) }
                json.object { json in
                    json.append(.subscriptionID, id)
                    ServiceError(.notFound, "the user has no subscription with this ID in this database")
                        .write(into: &json, uuid: nil)
                }
            }
        }
    }

    private func subscriptions(of session: Session) throws(ServiceError) -> [(id: String, text: String)] {
        let account = try session.account()
        return try ServiceError.ofStore { () throws(RecordStoreError) in
            try store.subscriptions(of: account, in: session.database).map { subscription in
                (subscription.id, String(decoding: subscription.body, as: UTF8.self))
            }
        }
    }
}
