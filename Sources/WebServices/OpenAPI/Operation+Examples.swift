import Events

extension Operation {
    /// The body of a valid request, in JSON.
    var example: String {
        switch self {
        case .recordsModify:
            #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"n1","recordType":"Note","#
                + #""fields":{"title":{"value":"Milk"},"price":{"value":3,"type":"INT64"}}}}]}"#
        case .recordsQuery:
            #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"title","#
                + #""fieldValue":{"value":"Milk"}}],"sortBy":[{"fieldName":"price","ascending":false}]},"resultsLimit":50}"#
        case .recordsLookup: #"{"records":[{"recordName":"n1"}],"desiredKeys":["title"]}"#
        case .recordsChanges: #"{"zoneID":{"zoneName":"_defaultZone"},"resultsLimit":50}"#
        case .changesZone: #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"}}]}"#
        case .zonesLookup: #"{"zones":[{"zoneName":"_defaultZone"}]}"#
        case .zonesModify: #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Work"}}}]}"#
        case .subscriptionsLookup: #"{"subscriptions":[{"\#(Member.subscriptionID)":"notes"}]}"#
        case .subscriptionsModify:
            #"{"operations":[{"operationType":"create","subscription":{"\#(Member.subscriptionID)":"notes","#
                + #""subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"],"#
                + #""notificationInfo":{"alertBody":"A note"}}}]}"#
        case .tokensCreate: #"{"apnsEnvironment":"development","clientId":"browser"}"#
        case .tokensRegister: #"{"apnsEnvironment":"development","apnsToken":"6a0f","clientId":"phone"}"#
        case .assetsUpload: #"{"tokens":[{"recordType":"Photo","fieldName":"file"}]}"#
        case .notificationsRead: #"{"notificationIDs":["9620b1ab-0000-4000-8000-000000000000"]}"#
        case .changesDatabase, .zonesChanges, .zonesList, .subscriptionsList, .usersCaller, .usersCurrent,
            .notificationsChanges:
            "{}"
        }
    }
}
