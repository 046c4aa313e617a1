import Events
import JSON
import PipelineKit

/// What a case is to show again.
package enum CaseTarget: Equatable {
    /// An event of the outcomes log: what became of one push at one device, or that there was none.
    case outcome(UInt64)
    /// That a change was not pushed to a user, or to one of the user's devices.
    case notPushed(change: UInt64, user: ExactText, device: ExactText?)
}

/// What became of a push, as far as it is the same in the log and in a case.
struct CaseOutcome: Equatable {
    /// The newest of the changes that it stands for.
    let change: UInt64
    let user: ExactText
    let device: ExactText?
    /// `accepted` stands for `failed` too: what a transport answers is not a pipeline's own.
    let kind: String
    let headers: ExactText
    private(set) var payload: CasePayload

    /// - Parameter changes: What a change's sequence is called.
    init?(_ outcome: JSONValue, push: JSONValue, ignoresBadge: Bool, changes: (UInt64) -> UInt64?) {
        guard let cause = push[.causes]?.elements.reversed().first?[.sequence]?.int64,
            let change = changes(UInt64(clamping: cause)), let user = outcome[.user]?.exact,
            let kind = CaseOutcome.kind(of: outcome), let id = push[.notificationID]?.string,
            let payload = push[.payload], let headers = push[.headers]
        else { return nil }
        self.change = change
        self.user = user
        device = outcome[.device]?.exact
        self.kind = kind
        self.headers = ExactText(String(decoding: headers.canonical, as: UTF8.self))
        self.payload = CasePayload(payload, notificationID: id, ignoresBadge: ignoresBadge)
    }

    /// What a run shows, which asks no transport: where one was asked, that is `accepted`.
    static func kind(of outcome: JSONValue) -> String? {
        let word = outcome[.outcome]?.string
        guard let word, let code = OutcomeCode(rawValue: word) else { return word }
        switch code {
        case .accepted, .failed, .unregistered, .superseded: return OutcomeCode.accepted.rawValue
        case .expired: return outcome[.attempts] == nil ? word : OutcomeCode.accepted.rawValue
        case .excludedOrigin, .unknownTransport, .noDevice: return word
        }
    }

    private init(_ other: CaseOutcome, _ replace: (String) -> String) {
        change = other.change
        user = other.user.map(replace)
        device = other.device?.map(replace)
        kind = other.kind
        headers = ExactText(JSONShape.text(of: other.headers.string))
        payload = other.payload.shape
    }

    /// The same, as long as another is written.
    func written(as other: CaseOutcome) -> CaseOutcome {
        var written = self
        written.payload.bytes = other.payload.bytes
        return written
    }

    /// For comparison with one whose texts have been replaced: what is left is how it is built and how long it is.
    func shape(_ replace: (String) -> String = { $0 }) -> CaseOutcome { CaseOutcome(self, replace) }
}

/// A push's payload, equal to another that says the same.
struct CasePayload: Equatable {
    /// Its canonical form, with an ID of no meaning in place of the notification's own.
    private let content: ExactText
    /// As it is written.
    fileprivate(set) var bytes: Int
    let isPruned: Bool

    init(_ payload: JSONValue, notificationID id: String, ignoresBadge: Bool) {
        (bytes, isPruned) = (payload.raw.count, payload["ck"]?["p"] != nil)
        let text = String(decoding: payload.canonical, as: UTF8.self)
            .replacing("\"nid\":\"\(id)\"", with: "\"nid\":\"\(String(repeating: "0", count: id.utf8.count))\"")
        content = ExactText(ignoresBadge ? text.replacing(/"badge":\d+/, with: #""badge":0"#) : text)
    }

    private init(_ content: ExactText, of other: CasePayload) {
        (self.content, bytes, isPruned) = (content, other.bytes, other.isPruned)
    }

    /// For comparison with one whose texts have been replaced.
    var shape: CasePayload { CasePayload(ExactText(JSONShape.text(of: content.string)), of: self) }

    static func == (left: CasePayload, right: CasePayload) -> Bool { left.content == right.content }
}

/// A JSON text with each string's length in place of the string.
enum JSONShape {
    static func text(of json: String) -> String {
        var parser = JSONParser(limits: LogScan.limits)
        return Array(json.utf8).withUnsafeBytes { bytes in
            do throws(JSONError) {
                var buffer = ByteBuffer()
                write(try parser.parse(bytes), into: &buffer)
                return buffer.text
            } catch { return json }
        }
    }

    private static func write(_ value: JSONValue, into buffer: inout ByteBuffer) {
        switch value.kind {
        case .string:
            buffer.append("~")
            buffer.appendJSON(value.raw.count)
        case .array:
            for element in value.elements {
                buffer.append(",")
                write(element, into: &buffer)
            }
        case .object:
            for (key, value) in value.members {
                buffer.append(";")
                buffer.append(key.raw)
                write(value, into: &buffer)
            }
        default: buffer.append(value.raw)
        }
    }
}

/// Why a change was not pushed to somebody, as far as it is the same in the log and in a case.
struct CaseSilence: Equatable {
    /// What match says of each of the user's subscriptions: its name and all codes.
    var reasons: [ExactText] = []
    /// The subscriptions that were ever saved before the change.
    var saved: [ExactText] = []
    /// Whether the device was ever registered before the change.
    var wasRegistered = false
    /// What the change led to for the user: subscriptions that matched, outcomes.
    var effects: [ExactText] = []
}

/// What a case shows.
enum CaseResult: Equatable {
    case outcome(CaseOutcome)
    case silence(CaseSilence)
    /// Something else.
    case nothing
}
