extension Operation {
    /// The body of an answer with the status 200.
    var answer: Schema {
        switch self {
        case .recordsModify: .object([Self.records(["AnsweredRecord", "DeletedRecord", "RecordError"])])
        case .recordsQuery:
            .object([
                Self.records(["AnsweredRecord"]), .optional("continuationMarker", .text), .optional("syncToken", .text),
            ])
        case .recordsLookup:
            .object([Self.records(["AnsweredRecord", "RecordError"]), .optional("syncToken", .text)])
        case .recordsChanges: .object([Self.changedRecords] + Self.syncMembers)
        case .changesZone:
            .object([
                Self.list(
                    "zones",
                    [
                        .object([.required("zoneID", .named("ZoneID")), Self.changedRecords] + Self.syncMembers),
                        .named("ZoneError"),
                    ])
            ])
        case .changesDatabase: .object([Self.zones(["Zone"])] + Self.syncMembers)
        case .zonesChanges: .object([Self.zones(["Zone"]), .required("metaSyncToken", .text)] + Self.syncMembers)
        case .zonesList: .object([Self.zones(["Zone"])])
        case .zonesLookup, .zonesModify: .object([Self.zones(["Zone", "ZoneError"])])
        case .subscriptionsList: .object([Self.list("subscriptions", [Self.subscription])])
        case .subscriptionsLookup, .subscriptionsModify:
            .object([Self.list("subscriptions", [Self.subscription, .named("SubscriptionError")])])
        case .tokensCreate:
            .object([
                .required("apnsEnvironment", .text), .required("apnsToken", .text), .required("webcourierURL", .text),
            ])
        case .tokensRegister: .object([])
        case .usersCaller, .usersCurrent: .object([.required("userRecordName", .text)])
        case .assetsUpload: .object([Self.list("tokens", [Self.upload])])
        case .notificationsChanges: .object([Self.list("notifications", [Self.notification])] + Self.syncMembers)
        case .notificationsRead: .object([Self.list("notificationIDs", [.text]), Self.list("unknown", [.text])])
        }
    }

    private static let syncMembers: [Schema.Member] = [.required("syncToken", .text), .required("moreComing", .flag)]
    private static let changedRecords = records(["AnsweredRecord", "DeletedRecord"])
    /// A saved subscription, or `{"subscriptionID":…,"deleted":true}`.
    private static let subscription = Schema.object([
        .required(Schema.subscriptionID, .text), .optional("deleted", .flag),
    ])
    private static let notification = Schema.object([
        .required("notificationID", .text), .required("isRead", .flag), .required("payload", .object([])),
    ])
    private static let upload = Schema.object([
        .required("recordName", .text), .required("fieldName", .text), .required("url", .text),
    ])

    private static func records(_ names: [String]) -> Schema.Member { list("records", names.map(Schema.named)) }
    private static func zones(_ names: [String]) -> Schema.Member { list("zones", names.map(Schema.named)) }

    private static func list(_ name: String, _ schemas: [Schema]) -> Schema.Member {
        .required(name, .list(schemas.count == 1 ? schemas[0] : .anyOf(schemas), atMost: nil))
    }
}
