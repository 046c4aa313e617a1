import Events
import JSON

extension SubscriptionForm {
    /// The subscription dictionary: the member `subscription` of the ingest command `subscription.save`.
    var json: String {
        var buffer = ByteBuffer()
        write(into: &buffer)
        return buffer.text
    }

    func write(into buffer: inout ByteBuffer) {
        buffer.object { buffer in
            buffer.append(.subscriptionID, subscriptionID)
            buffer.append(.subscriptionType, word: type.word)
            writeWatched(into: &buffer)
            guard let info else { return }
            buffer.append(member: .notificationInfo)
            info.properties.write(into: &buffer)
        }
    }

    private func writeWatched(into buffer: inout ByteBuffer) {
        guard type == .query else {
            if let zoneID { SubscriptionForm.write(zoneID, into: &buffer) }
            return buffer.append(.recordType, recordType)
        }
        writeQuery(into: &buffer)
        // Without a zone, a subscription of CloudKit's client watches all zones. In Web Services it watches only the
        // default zone, unless `zoneWide` is set.
        if let zoneID { SubscriptionForm.write(zoneID, into: &buffer) } else { buffer.append(.zoneWide, true) }
        options.writeMembers(into: &buffer)
    }

    private func writeQuery(into buffer: inout ByteBuffer) {
        buffer.append(member: .query)
        buffer.object {
            $0.append(.recordType, recordType ?? "")
            predicate?.writeMembers(into: &$0)
        }
    }

    private static func write(_ zoneID: CKRecordZone.ID, into buffer: inout ByteBuffer) {
        buffer.append(member: .zoneID)
        zoneID.write(into: &buffer)
    }
}

extension CKSubscription.SubscriptionType {
    var word: StaticString {
        switch self {
        case .query: "query"
        case .recordZone: "zone"
        case .database: "database"
        }
    }

    init?(word: JSONValue?) {
        switch word?.string {
        case "query": self = .query
        case "zone": self = .recordZone
        case "database": self = .database
        default: return nil
        }
    }
}
