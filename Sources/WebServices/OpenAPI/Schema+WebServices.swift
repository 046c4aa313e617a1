import CloudKitModel
import Events
import Predicates

/// The dictionaries of CloudKit Web Services.
///
/// For each member that the gateway reads, the schema of a request allows every value that the gateway accepts. The
/// schema of an answer requires only members that are always there.
extension Schema {
    /// The schemas to which other schemas refer by name.
    static let named: [(name: String, schema: Schema)] = [
        ("ZoneID", zoneID), ("Zone", zone), ("Field", field), ("Record", record), ("AnsweredRecord", answeredRecord),
        ("DeletedRecord", deletedRecord), ("RecordError", item("recordName", .text)),
        ("ZoneError", item("zoneID", .named("ZoneID"))), ("SubscriptionError", item(subscriptionID, .text)),
        ("Filter", filter), ("Sort", sort), ("Query", query), ("Subscription", subscription), ("Error", error),
    ]

    static let subscriptionID = "\(Events.Member.subscriptionID)"
    // The patterns of names express the rules of CloudKitModel.NameRule.
    static let container = Schema.pattern(#"iCloud\.[A-Za-z0-9._-]{1,248}"#)
    static let recordName = Schema.pattern("[ -~]{1,255}")
    private static let recordType = Schema.pattern("[A-Za-z0-9._-]{1,255}")
    private static let fieldName = "[A-Za-z][A-Za-z0-9_]{0,254}"

    private static let zoneID = Schema.object([
        .required("zoneName", .pattern("_defaultZone|[ -^`-~][ -~]{0,254}")), .optional("ownerRecordName", recordName),
    ])
    private static let zone = Schema.object([
        .required("zoneID", .named("ZoneID")), .optional("atomic", .flag), .optional("deleted", .flag),
    ])
    private static let field = Schema.object([.required("value", .any), .optional("type", .text)])
    private static let stamp = Schema.object([
        .required("timestamp", .number), .optional("userRecordName", .text), .optional("deviceID", .text),
    ])
    private static let reference = Schema.object([
        .required("recordName", recordName), .optional("zoneID", .named("ZoneID")),
    ])
    private static let record = Schema.object([
        .optional("recordName", recordName), .optional("recordType", recordType),
        .optional("recordChangeTag", .text), .optional("zoneID", .named("ZoneID")),
        .optional("fields", .map(keys: fieldName, .named("Field"))), .optionalOrNull("parent", reference),
    ])
    private static let answeredRecord = Schema.object([
        .required("recordName", recordName), .required("recordType", recordType),
        .required("recordChangeTag", .pattern("[0-9a-z]{1,13}")), .required("zoneID", .named("ZoneID")),
        .required("fields", .map(keys: fieldName, .named("Field"))), .required("created", stamp),
        .required("modified", stamp), .optional("deleted", .flag), .optional("pluginFields", .object([])),
        .optional("parent", .object([])),
    ])
    private static let deletedRecord = Schema.object([
        .required("recordName", .text), .required("deleted", .alwaysTrue), .required("zoneID", .named("ZoneID")),
    ])
    private static let filter = Schema.object([
        .required("comparator", .word(FilterComparators.names)), .optional("fieldName", .text),
        .optional("systemFieldName", .text),
        .optional("fieldValue", .named("Field")), .optional("distance", .number),
    ])
    private static let sort = Schema.object([
        .optional("fieldName", .text), .optional("systemFieldName", .text), .optional("ascending", .flag),
        .optionalOrNull("relativeLocation", .named("Field")),
    ])
    private static let query = Schema.object([
        .required("recordType", .text), .optionalOrNull("filterBy", .list(.named("Filter"), atMost: nil)),
        .optionalOrNull("sortBy", .list(.named("Sort"), atMost: nil)), .optionalOrNull("predicate", .text),
    ])
    private static let subscription = Schema.object([
        .optional(subscriptionID, .pattern(".+")), .optional("subscriptionType", .word(["query", "zone", "database"])),
        .optional("query", .named("Query")),
        .optional("firesOn", .list(.word(["create", "update", "delete"]), atMost: nil)),
        .optional("firesOnce", .flag), .optional("zoneID", .named("ZoneID")), .optional("zoneWide", .flag),
        .optional("notificationInfo", .object([])),
    ])
    /// The value of an asset field, as the answer to an upload gives it.
    static let assetValue = object([
        .required("fileChecksum", .text), .required("size", .number), .required("wrappingKey", .text),
        .required("receipt", .text), .required("referenceChecksum", .text),
    ])
    private static let errorMembers: [Member] = [
        .required("serverErrorCode", .word(ServerErrorCode.allCases.map(\.rawValue))), .required("reason", .text),
        .optional("retryAfter", .number), .optional("redirectURL", .text), .required("uuid", .text),
    ]
    /// The error of a whole request.
    private static let error = Schema.object(errorMembers)

    /// The error of one item. The member with the name `member` says which item failed.
    private static func item(_ member: String, _ schema: Schema) -> Schema {
        .object([.required(member, schema)] + errorMembers)
    }
}

extension Operation {
    /// What the operation does, in a sentence.
    var summary: String {
        switch self {
        case .recordsModify: "Creates, changes and deletes records."
        case .recordsQuery: "Finds records by type and filters."
        case .recordsLookup: "Reads records by name."
        case .recordsChanges: "Lists what changed in a zone since a sync token."
        case .changesZone: "Lists what changed in several zones since their sync tokens."
        case .changesDatabase: "Lists the zones that changed since a sync token."
        case .zonesList: "Lists the zones of a database."
        case .zonesLookup: "Reads zones by ID."
        case .zonesModify: "Creates and deletes zones."
        case .zonesChanges: "The older form of changes/database: lists the zones that changed since a sync token."
        case .subscriptionsList: "Lists the user's subscriptions."
        case .subscriptionsLookup: "Reads subscriptions by ID."
        case .subscriptionsModify: "Saves and deletes subscriptions."
        case .tokensCreate: "Gives the client a token and the address at which it polls for its notifications."
        case .tokensRegister: "Registers a device's APNs token."
        case .usersCaller, .usersCurrent: "Tells who the user is."
        case .assetsUpload: "Gives addresses to which the client sends the files of assets."
        case .notificationsChanges: "Lists the user's notifications that came or were read since a sync token."
        case .notificationsRead: "Marks notifications as read, for all devices of the user."
        }
    }

    /// The body of a request.
    var request: Schema {
        switch self {
        case .recordsModify:
            .object([
                .required(
                    "operations",
                    .list(
                        .object([
                            .required("operationType", .word(OperationType.allCases.map { "\($0.word)" })),
                            .required("record", .named("Record")), .optional("desiredKeys", Self.keys),
                        ]), atLeast: 1, atMost: ModifyRequest.operationsMax)),
                .optional("zoneID", .named("ZoneID")), .optional("atomic", .flag), .optional("desiredKeys", Self.keys),
                .optional("numbersAsStrings", .flag),
            ])
        case .recordsQuery:
            .object([
                .required("query", .named("Query")), .optional("zoneID", .named("ZoneID")),
                .optional("zoneWide", .flag),
                Self.limit, .optional("continuationMarker", .text), .optional("desiredKeys", Self.keys),
                .optional("numbersAsStrings", .flag),
            ])
        case .recordsLookup:
            .object([
                .required(
                    "records",
                    .list(
                        .object([.required("recordName", .text), .optional("desiredKeys", Self.keys)]), atLeast: 1,
                        atMost: 200)),
                .optional("zoneID", .named("ZoneID")), .optional("desiredKeys", Self.keys),
            ])
        case .recordsChanges: .object([.required("zoneID", .named("ZoneID"))] + Self.changes + [Self.limit])
        case .changesZone:
            .object([
                .required(
                    "zones",
                    .list(.object([.required("zoneID", .named("ZoneID"))] + Self.changes), atLeast: 1, atMost: 200)),
                Self.limit,
            ])
        case .changesDatabase, .zonesChanges, .notificationsChanges:
            .object([.optional("syncToken", .text), Self.limit])
        case .notificationsRead:
            .object([.required("notificationIDs", .list(.text, atMost: WebService.notificationsMax))])
        case .zonesLookup:
            .object([
                .required(
                    "zones",
                    .list(
                        .anyOf([.named("ZoneID"), .object([.required("zoneID", .named("ZoneID"))])]), atLeast: 1,
                        atMost: 200))
            ])
        case .zonesModify: Self.operations(["create", "delete"], "zone", .named("Zone"))
        case .subscriptionsLookup:
            .object([
                .required(
                    "subscriptions",
                    .list(.anyOf([.object([.required(Schema.subscriptionID, .text)]), .text]), atLeast: 1, atMost: 200))
            ])
        case .subscriptionsModify:
            Self.operations(["create", "update", "delete"], "subscription", .named("Subscription"))
        case .tokensCreate, .tokensRegister:
            .object([
                .required("apnsEnvironment", .word(["development", "production"])),
                self == .tokensCreate
                    ? .optional("apnsToken", .text)
                    : .required("apnsToken", .pattern("([0-9a-fA-F]{2}){1,256}")),
                .optional("clientId", .text),
            ])
        case .zonesList, .subscriptionsList, .usersCaller, .usersCurrent: .object([])
        case .assetsUpload:
            .object([
                .required(
                    "tokens",
                    .list(
                        .object([
                            .required("recordType", .text), .required("fieldName", .text),
                            .optional("recordName", .text),
                        ]), atLeast: 1, atMost: 200)),
                .optional("zoneID", .named("ZoneID")),
            ])
        }
    }

    private static let keys = Schema.list(.text, atMost: nil)
    private static let limit = Schema.Member.optional("resultsLimit", .count(atMost: nil))
    private static let changes: [Schema.Member] = [
        .optional("syncToken", .text), .optional("desiredKeys", keys), .optional("desiredRecordTypes", keys),
        .optional("reverse", .flag),
    ]

    private static func operations(_ types: [String], _ member: String, _ schema: Schema) -> Schema {
        .object([
            .required(
                "operations",
                .list(
                    .object([.required("operationType", .word(types)), .required(member, schema)]),
                    atLeast: 1, atMost: ModifyRequest.operationsMax))
        ])
    }
}
