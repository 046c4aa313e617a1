/// Commands of one user who watches notes.
enum Notes {
    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    /// Commands that register a device, save a subscription, and save `count` notes that the subscription watches.
    ///
    /// - Parameter collapseID: The collapse ID of all pushes.
    static func commands(_ count: Int, collapseID: String? = nil) -> [String] {
        let collapse = collapseID.map { #","collapseIDKey":"\#($0)""# } ?? ""
        return [
            device("phone", "00ff"),
            #"{"type":"subscription.save",\#(place),"database":"private","user":"_alice","subscription":{"#
                + #""subscriptionID":"feed","subscriptionType":"query","query":{"recordType":"Note"},"zoneWide":true,"#
                + #""firesOn":["create"],"notificationInfo":{"alertBody":"A note"\#(collapse)}}}"#,
        ] + (1...count).map(note)
    }

    static func device(
        _ name: String, _ token: String, topic: String = "com.example.Notes", transport: String = "apns"
    ) -> String {
        #"{"type":"device.register",\#(place),"user":"_alice","device":"\#(name)","transport":"\#(transport)","#
            + #""token":"\#(token)","topic":"\#(topic)"}"#
    }

    static func note(_ number: Int) -> String {
        #"{"type":"record.save",\#(place),"database":"private","owner":"_alice","record":{"recordName":"n\#(number)","#
            + #""recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"_alice"},"fields":{}}}"#
    }
}
