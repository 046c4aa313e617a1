/// The code of an ``Explanation``. Codes do not change between versions; the manual has a page on them.
public enum ExplanationCode: String, CaseIterable, Sendable, Hashable {
    // MARK: The change
    case changeNotARecord = "change.not_a_record"
    case changeRefused = "change.refused"
    case changeUnmatched = "change.unmatched"
    case eventDeadLetter = "event.dead_letter"
    case stageDropped = "stage.dropped"

    // MARK: Subscriptions
    case subscriptionMatched = "subscription.matched"
    case subscriptionNotMatched = "subscription.not_matched"
    case subscriptionNone = "subscription.none"
    case subscriptionSavedLater = "subscription.saved_later"
    case subscriptionDeleted = "subscription.deleted"
    case subscriptionReplaced = "subscription.replaced"
    case scopeSame = "scope.same"
    case containerDiffers = "scope.container_differs"
    case environmentDiffers = "scope.environment_differs"
    case databaseDiffers = "scope.database_differs"
    case ownerDiffers = "scope.owner_differs"
    case zoneSame = "zone.same"
    case zoneDiffers = "zone.differs"
    case zoneDefault = "zone.default"
    case recordTypeSame = "record_type.same"
    case recordTypeDiffers = "record_type.differs"
    case recordTypeIgnored = "record_type.ignored"
    case firesOnSame = "fires_on.same"
    case firesOnDiffers = "fires_on.differs"
    case firesOnceSpent = "fires_once.spent"
    case predicateNever = "predicate.never"
    case clauseTrue = "clause.true"
    case clauseFalse = "clause.false"
    case clauseFieldMissing = "clause.field_missing"
    case clauseTypeDiffers = "clause.type_differs"
    case conditionTrue = "condition.true"
    case conditionFalse = "condition.false"

    // MARK: Notifications and payloads
    case notificationMade = "notification.made"
    case notificationHeld = "notification.held"
    case notificationFlushed = "notification.flushed"
    case coalescedInto = "coalesced.into"
    case payloadAlert = "payload.alert"
    case payloadSilent = "payload.silent"
    case payloadPruned = "payload.pruned"
    case payloadUnfit = "payload.unfit"

    // MARK: Devices and transports
    case deviceRegistered = "device.registered"
    case deviceNone = "device.none"
    case deviceNotRegisteredYet = "device.not_registered_yet"
    case deviceUnregistered = "device.unregistered"
    case deviceReplaced = "device.replaced"
    case originExcluded = "origin.excluded"
    case transportKnown = "transport.known"
    case transportUnknown = "transport.unknown"
    case transportAccepted = "transport.accepted"
    case transportFailed = "transport.failed"
    case transportUnregistered = "transport.unregistered"
    case deviceRetired = "device.retired"
    case appStopped = "app.stopped"
    case pushWaiting = "push.waiting"
    case pushExpired = "push.expired"
    case pushSuperseded = "push.superseded"
    case outcomePending = "outcome.pending"

    // MARK: Replay
    case replayDiffers = "replay.differs"
}

extension ExplanationCode {
    /// The code's meaning, in one sentence.
    public var meaning: String {
        switch self {
        case .changeNotARecord:
            "The event with that sequence is not a change of a record, so it causes no push."
        case .changeRefused: "Match could not use the change and set it aside as a dead letter."
        case .changeUnmatched:
            "No user has a subscription that watched the change; match counted the change as unmatched."
        case .eventDeadLetter: "A later stage could not use an event that the change led to, and set it aside."
        case .stageDropped:
            "A stage on the way did not pass on the registration of the device, or an event that the change led to."
        case .subscriptionMatched: "The subscription watched the change."
        case .subscriptionNotMatched:
            "The subscription did not watch the change; the explanation's parts say which check failed."
        case .subscriptionNone: "The log contains no save of such a subscription."
        case .subscriptionSavedLater: "The subscription was first saved after the change."
        case .subscriptionDeleted: "The subscription had been deleted before the change."
        case .subscriptionReplaced: "The subscription was saved again before the change; its last version counted."
        case .scopeSame: "Change and subscription are of the same container, environment, database and owner."
        case .containerDiffers: "The change is in another container."
        case .environmentDiffers: "The change is in another environment: development or production."
        case .databaseDiffers: "The change is in another database: public, private or shared."
        case .ownerDiffers: "The change is in another user's private or shared database."
        case .zoneSame: "The record is in a zone that the subscription watches."
        case .zoneDiffers: "The record is in another zone than the subscription's."
        case .zoneDefault: "The record is in the default zone, which a database subscription does not watch."
        case .recordTypeSame: "The record has a type that the subscription watches."
        case .recordTypeDiffers: "The record has another type than the subscription's."
        case .recordTypeIgnored: "The subscription names another record type, but `strictRecordType` is `ignore`."
        case .firesOnSame: "The subscription fires on this kind of change: create, update or delete."
        case .firesOnDiffers: "The subscription does not fire on this kind of change: create, update or delete."
        case .firesOnceSpent: "The subscription fires once, and it fired for an earlier change."
        case .predicateNever: "The predicate is false for every record."
        case .clauseTrue: "The comparison was true for the record's value."
        case .clauseFalse: "The comparison was false for the record's value."
        case .clauseFieldMissing: "The record has no such field; any comparison with it is false."
        case .clauseTypeDiffers:
            "The field's value and the compared value have different types; the comparison is false."
        case .conditionTrue: "Comparisons joined by OR or AND were true; the parts show which."
        case .conditionFalse: "Comparisons joined by OR or AND were false; the parts show which."
        case .notificationMade: "The match became a notification."
        case .notificationHeld: "The notification is held in case a newer one replaces it."
        case .notificationFlushed: "Too many notifications waited for the user, so this one left early."
        case .coalescedInto: "A newer notification replaced this one and stands for its change too."
        case .payloadAlert: "The push shows or plays something, or sets the badge."
        case .payloadSilent: "The push is silent: it wakes the app and shows nothing."
        case .payloadPruned: "The payload was too long; the named parts were left out."
        case .payloadUnfit: "The payload lacks values of the named fields, because their types are not allowed there."
        case .deviceRegistered: "The device was registered when the push came."
        case .deviceNone: "The user had no such device, or no device at all, when the push came."
        case .deviceNotRegisteredYet: "The device was first registered after the push."
        case .deviceUnregistered:
            "The device was unregistered, or registered for another app, before the push or while the push waited."
        case .deviceReplaced: "The device's token had moved to another registration before the push."
        case .originExcluded: "The device made the change itself."
        case .transportKnown: "The pipeline has the transport that the device registered with."
        case .transportUnknown: "The pipeline has no transport of the name that the device registered with."
        case .transportAccepted: "The transport accepted the push."
        case .transportFailed: "The transport refused the push or could not pass it on."
        case .transportUnregistered: "The push service says that the device's token is no longer valid."
        case .deviceRetired: "The device was removed from the registry, because its token was no longer valid."
        case .appStopped:
            "The push service rejects every push of the app, so its pushes wait; now and then one is tried."
        case .pushWaiting: "The push waits for another attempt."
        case .pushExpired:
            "The push's `apns-expiration` passed before the transport accepted the push, or its only allowed attempt "
                + "failed."
        case .pushSuperseded: "A newer push with the same collapse ID came for the device while this one waited."
        case .outcomePending: "A stage has not processed the event yet."
        case .replayDiffers:
            "The log differs from what today's rules give. If a plugin stage may have caused this, the text names it."
        }
    }
}

extension ExplanationCode {
    /// What an explanation with this code means for the push.
    public enum Effect: Sendable {
        case allowsPush, preventsPush, none
    }

    /// What an explanation with this code means for the push.
    public var effect: Effect {
        switch self {
        case .subscriptionMatched, .scopeSame, .zoneSame, .recordTypeSame, .recordTypeIgnored, .firesOnSame,
            .clauseTrue, .conditionTrue, .notificationMade, .payloadAlert, .deviceRegistered, .transportKnown,
            .transportAccepted:
            .allowsPush
        case .subscriptionReplaced, .coalescedInto, .notificationHeld, .notificationFlushed, .changeUnmatched,
            .payloadSilent, .payloadPruned, .payloadUnfit, .outcomePending, .pushWaiting, .pushSuperseded:
            .none
        case .changeNotARecord, .changeRefused, .eventDeadLetter, .stageDropped, .subscriptionNotMatched,
            .subscriptionNone, .subscriptionSavedLater, .subscriptionDeleted, .containerDiffers, .environmentDiffers,
            .databaseDiffers, .ownerDiffers, .zoneDiffers, .zoneDefault, .recordTypeDiffers, .firesOnDiffers,
            .firesOnceSpent, .predicateNever, .clauseFalse, .clauseFieldMissing, .clauseTypeDiffers, .conditionFalse,
            .deviceNone, .deviceNotRegisteredYet, .deviceUnregistered, .deviceReplaced, .originExcluded,
            .transportUnknown, .transportFailed, .transportUnregistered, .deviceRetired, .appStopped, .pushExpired,
            .replayDiffers:
            .preventsPush
        }
    }
}
