import BelfryClient

/// Pushes that CloudKit sent, with their identifiers replaced. Only ``zoneSilent`` was written by hand, in the form
/// that clients parse.
enum Golden {
    static let alice = "_0123456789abcdef0123456789abcdef"

    static let databaseSilent = Pushed(
        #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.com.example.Notes","ckuserid":"\#(alice)","#
            + #""met":{"dbs":1,"sid":"all-private","zid":"Notes","zoid":"\#(alice)"},"#
            + #""nid":"5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e05"}}"#)

    static let queryAlertBadge = Pushed(
        #"{"aps":{"alert":"A note was added","badge":7,"sound":"default"},"ck":{"ce":2,"#
            + #""cid":"iCloud.com.example.Notes","ckuserid":"\#(alice)","nid":"5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e02","#
            + #""qry":{"dbs":1,"fo":1,"rid":"record-2","sid":"my-notes","zid":"Notes","zoid":"\#(alice)"}}}"#)

    static let queryDesiredKeys = Pushed(
        #"{"aps":{"alert":{"body":"Shopping changed","title":"Notes"}},"ck":{"ce":2,"#
            + #""cid":"iCloud.com.example.Notes","ckuserid":"\#(alice)","nid":"5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e03","#
            + #""qry":{"af":{"stars":5,"title":"Shopping"},"dbs":1,"fo":2,"rid":"record-3","sid":"my-notes","#
            + #""zid":"Notes","zoid":"\#(alice)"}}}"#)

    static let queryPublicSilent = Pushed(
        #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.com.example.Notes","ckuserid":"\#(alice)","#
            + #""nid":"5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e01","qry":{"dbs":2,"fo":1,"rid":"record-1","#
            + #""sid":"public-notes","zid":"_defaultZone","zoid":"_defaultOwner"}}}"#)

    static let zoneSilent = Pushed(
        #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.com.example.Notes","ckuserid":"\#(alice)","#
            + #""fet":{"dbs":1,"sid":"zone-notes","zid":"Notes","zoid":"\#(alice)"},"#
            + #""nid":"5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e04"}}"#)
}

/// A payload as an app gets it.
struct Pushed {
    let text: String

    init(_ text: String) { self.text = text }

    var userInfo: [AnyHashable: Any] {
        do {
            return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
        } catch {
            return [:]
        }
    }

    var notification: CKNotification? { CKNotification(fromRemoteNotificationDictionary: userInfo) }
}
