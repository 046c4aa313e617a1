import Events
import JSON
import PipelineKit

/// What a case reproduces.
package enum CaseTarget: Equatable {
    /// The sequence of an event of a log of outcomes. The log's name matters only if the pipeline has lanes.
    case outcome(UInt64, log: String = LogKind.outcomes.rawValue)
    /// A change that was not pushed to one device of a user; if the device is nil, not to any device of the user.
    case notPushed(change: UInt64, user: ExactText, device: ExactText?)
}

/// The parts of an outcome that are the same in the log and in a case.
struct CaseOutcome: Equatable {
    /// The newest change of the push.
    let change: UInt64
    let user: ExactText
    let device: ExactText?
    let kind: String
    let headers: ExactText
    private(set) var payload: CasePayload

    /// - Parameter changes: Maps a change's sequence to its sequence in the original log.
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

    /// The outcome code that a run of the case would record. A run has no transports: it records `accepted` for every
    /// push that a transport would get.
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

    /// A copy with the payload length of another outcome.
    func withLength(of other: CaseOutcome) -> CaseOutcome {
        var copy = self
        copy.payload.bytes = other.payload.bytes
        return copy
    }

    /// A copy in which lengths replace the strings of the headers and of the payload. Pseudonyms do not change these
    /// lengths.
    ///
    /// - Parameter replace: Replaces the names of the user and of the device.
    func shape(_ replace: (String) -> String = { $0 }) -> CaseOutcome { CaseOutcome(self, replace) }
}

/// A push's payload. Payloads with the same content are equal, even if their lengths differ.
struct CasePayload: Equatable {
    /// The canonical JSON, with zeros in place of the notification's ID, and 0 in place of an ignored badge.
    private let content: ExactText
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

    var shape: CasePayload { CasePayload(ExactText(JSONShape.text(of: content.string)), of: self) }

    static func == (left: CasePayload, right: CasePayload) -> Bool { left.content == right.content }
}

/// Replaces each string value in a JSON text by its length. The result is not JSON: it serves only for comparisons. A
/// text that is not JSON stays unchanged.
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

/// The reasons why a change was not pushed, as far as they are the same in the log and in a case.
struct NotPushedEvidence: Equatable {
    /// Each subscription of the user, with the codes of the match stage's explanation.
    var reasons: [ExactText] = []
    /// The subscriptions that the user saved before the change.
    var savedSubscriptions: [ExactText] = []
    /// Whether the user registered the target's device before the change. False if the target names no device.
    var wasRegistered = false
    /// The user's matches of the change, then the user's outcomes of the change. If the target names a device, the
    /// outcomes are only those at this device.
    var effects: [ExactText] = []
}

/// The result of running a case.
enum CaseResult: Equatable {
    case outcome(CaseOutcome)
    case notPushed(NotPushedEvidence)
    /// The run did not lead to the wanted outcome, or ingest rejected the change.
    case nothing
}
