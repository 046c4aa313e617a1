extension EventType {
    /// Every event type of every log, in the order of the pipeline's stages.
    package static let all: [EventType] = commands + matchToPayload + deliver + [deadLetter]

    // MARK: Commands of producers

    private static let containerMembers: [Entry] = [
        .required(.container, .text), .required(.environment, .words(["development", "production"])),
    ]
    private static let databases = Kind.words(["private", "public", "shared"])
    private static let reasons = Kind.words(["create", "update", "delete"])
    private static let recordMembers: [Entry] =
        containerMembers + [
            .required(.database, databases), .optional(.owner, .text), .optional(.origin, .object),
            .required(.record, .object), .required(.change, reasons), .optional(.before, .object), request,
        ]
    private static let zoneMembers: [Entry] =
        containerMembers + [
            .required(.database, .words(["private", "shared"])), .required(.owner, .text), .required(.zoneID, .object),
            request,
        ]
    private static let request = Entry.optional(.request, .text)
    private static let deviceMembers: [Entry] = containerMembers + [.required(.user, .text), .required(.device, .text)]
    private static let subscriptionMembers: [Entry] =
        containerMembers + [.required(.database, databases), .required(.user, .text)]

    package static let commands = [
        EventType(EventName.recordSave, in: .changes, "A record was created or updated.", recordMembers),
        EventType(
            EventName.recordDelete, in: .changes, "A record was deleted.",
            recordMembers + [.optional(.recordType, .text)]),
        EventType(EventName.zoneSave, in: .changes, "A zone was created.", zoneMembers),
        EventType(EventName.zoneDelete, in: .changes, "A zone was deleted with all its records.", zoneMembers),
        EventType(
            EventName.subscriptionSave, in: .changes, "A user saved a subscription.",
            subscriptionMembers + [.required(.subscription, .object), request]),
        EventType(
            EventName.subscriptionDelete, in: .changes, "A user deleted a subscription.",
            subscriptionMembers + [.required(.subscriptionID, .text), request]),
        EventType(
            EventName.deviceRegister, in: .changes, "A device can be reached.",
            deviceMembers + [
                .required(.transport, .text), .required(.token, .text), .optional(.topic, .text), request,
            ]),
        EventType(
            EventName.deviceUnregister, in: .changes, "A device can no longer be reached.", deviceMembers + [request]),
        EventType(
            EventName.badgeSet, in: .changes, "An app set the badge of its icon.",
            containerMembers + [.required(.user, .text), .optional(.topic, .text), .required(.badge, .count)]),
        EventType(
            EventName.pushRedrive, in: .changes, "An earlier push is sent to one device again.",
            deviceMembers + [.required(.redriveOf, .object), .required(.push, .object)]),
    ]

    // MARK: Events of match, coalesce and payload

    private static let matchMembers: [Entry] =
        [.required(.change, .sequence), .required(.notificationID, .text)] + subscriptionMembers + [
            .required(.subscriptionID, .text), .required(.subscriptionType, .words(["query", "zone", "database"])),
            .required(.reason, reasons), .required(.recordName, .text), .optional(.recordType, .text),
            .required(.zoneID, .object), .optional(.origin, .object), .optional(.fields, .object),
            .optional(.notificationInfo, .object),
        ]

    package static let matchToPayload = [
        EventType(EventName.match, in: .matches, "A subscription watches a change.", matchMembers),
        EventType(
            EventName.notMatched, in: .matches,
            "Of the changes from `first` to `last`, `count` are watched by no subscription.",
            [.required(.first, .sequence), .required(.last, .sequence), .required(.count, .count)]),
        EventType(
            EventName.notification, in: .notifications, "A user will be told about one or more changes.",
            [.required(.causes, .list), .optional(.atLimit, .text)] + matchMembers),
        EventType(
            EventName.coalesced, in: .notifications, "A newer match replaced a match that was held back.",
            [
                .required(.match, .sequence), .required(.change, .sequence), .required(.replacedBy, .sequence),
                .required(.replacedByChange, .sequence), .required(.user, .text), .required(.subscriptionID, .text),
            ]),
        EventType(
            EventName.push, in: .pushes, "The headers and payload for every device of a user.",
            [.required(.notificationID, .text)] + containerMembers + [
                .required(.user, .text), .required(.subscriptionID, .text), .optional(.origin, .object),
                .required(.headers, .object), .required(.payload, .object), .optional(.payloadByTopic, .object),
                .optional(.unpruned, .object), .required(.causes, .list),
            ]),
    ]

    // MARK: Events of deliver

    private static let answerMembers: [Entry] = [
        .optional(.answer, .text), .optional(.by, .sequence), .optional(.status, .count), .optional(.reason, .text),
        .optional(.said, .text), .optional(.attempts, .count), .optional(.tries, .count), .optional(.until, .time),
        .optional(.since, .time), .optional(.registered, .time), .optional(.at, .time), .optional(.underWay, .flag),
        .optional(.repeatPossible, .flag), .optional(.receipt, .text),
    ]
    private static let pushMembers: [Entry] = [
        .required(.push, .sequence), .optional(.redriveOf, .object), .required(.notificationID, .text),
        .required(.user, .text),
    ]
    private static let attemptMembers: [Entry] = [
        .required(.device, .text), .required(.transport, .text), .required(.apnsID, .text), .required(.outcome, .text),
    ]
    private static let noticeMembers: [Entry] =
        [.required(.of, .words(["device.retired"])), .required(.push, .sequence)] + containerMembers + [
            .required(.user, .text), .required(.device, .text), .required(.transport, .text),
            .required(.webhookID, .text), .required(.outcome, .text),
        ]
    private static let appMembers: [Entry] =
        containerMembers + [.required(.transport, .text), .optional(.topic, .text)]

    package static let deliver = [
        EventType(
            EventName.outcome, in: .outcomes, "A push ended at a device.",
            pushMembers
                + [
                    .optional(.device, .text), .optional(.transport, .text), .optional(.apnsID, .text),
                    .required(.outcome, .text),
                ] + answerMembers + [.required(.causes, .list)]),
        EventType(
            EventName.attempt, in: .outcomes, "A push waits for another attempt.",
            pushMembers + attemptMembers + answerMembers + [.required(.causes, .list)]),
        EventType(
            EventName.deviceRetired, in: .outcomes, "A device's address is no longer valid.",
            deviceMembers + [
                .required(.transport, .text), .optional(.topic, .text), .optional(.status, .count),
                .optional(.reason, .text), .required(.since, .time), .required(.registered, .time),
                .required(.push, .sequence),
            ]),
        EventType(
            EventName.noticeOutcome, in: .outcomes, "A notice of a retired device ended at the app's backend.",
            noticeMembers + answerMembers),
        EventType(
            EventName.noticeAttempt, in: .outcomes, "A notice waits for another attempt.",
            noticeMembers + answerMembers),
        EventType(
            EventName.appStopped, in: .outcomes,
            "A transport rejects every push of an app, for example because of the app's key.",
            appMembers + [.optional(.status, .count), .optional(.reason, .text), .required(.probeAt, .time)]),
        EventType(
            EventName.appResumed, in: .outcomes, "A transport accepts pushes of an app again.",
            appMembers + [.required(.held, .count)]),
    ]

    // MARK: Dead letters

    package static let deadLetter = EventType(
        EventName.deadLetter, in: nil, "A stage rejected an event or crashed on it; `reason` says why.",
        [
            .required(.stage, .text), .required(.log, .text), .required(.sequence, .sequence), .required(.code, .text),
            .required(.path, .text), .required(.reason, .text), .required(.event, .text),
        ])
}
