import Events
import JSON
import PipelineKit
import Time

/// An event that a stage rejected or crashed on, or a push that did not reach its device.
package struct DeadLetter: Sendable {
    /// The log and sequence of the `dead_letter` or `outcome` event that records this letter.
    package let place: EventPlace
    let time: Instant
    let stage: String
    /// The code of the stage's rejection, or of the outcome.
    let code: String
    let reason: String
    var status: Int64?
    /// The log and sequence of the rejected event or of the push. The sequence is 0 if the event at ``place`` does not
    /// name it.
    let source: EventPlace
    /// The sequence of the newest change that the event or push names as its cause; nil if it names none. For a
    /// rejected event of the changes log, the sequence of this event.
    var change: UInt64?
    var content: Content
    var container: ExactText?
    var environment: ExactText?
    var user: ExactText?
    var device: ExactText?
    var transport: String?
    var topic: ExactText?
    /// The sequence of this letter's newest redrive in the changes log; nil if there is no redrive. The redrive of a
    /// rejected command is the same command again; it counts only while it is the newest command on its subject.
    var newestRedrive: UInt64?

    enum Content: Sendable {
        /// Nil if the outcome names no push, or if the log that deliver reads no longer contains the push.
        case push(UndeliveredPush?)
        case event(RejectedEvent)
    }

    var type: String {
        switch content {
        case .push: "push"
        case .event(let event): event.type
        }
    }

    var isPush: Bool { if case .push = content { true } else { false } }

    var push: UndeliveredPush? { if case .push(let push) = content { push } else { nil } }

    var rejectedEvent: RejectedEvent? { if case .event(let event) = content { event } else { nil } }
}

/// A push that did not reach its device.
struct UndeliveredPush: Sendable {
    /// Nil if the push has no expiration, the expiration 0, or an expiration beyond the year 9999.
    var expiresAt: Instant?
    /// The number of the ``PushHistory`` slot for the push's collapse ID.
    var collapseSlot: Int?
    /// The number of the ``PushHistory`` slot for the push's badge.
    var badgeSlot: Int?
    var hasOnlyBadge = false
    /// Whether a newer push with a badge was accepted or is waiting for its next attempt.
    var isBadgeOutdated = false
    /// The sequence of the push. For a redrive, the sequence of the original push.
    var order: UInt64
    /// The address of the device when the push was written; nil if the device was not registered then, or if the log no
    /// longer contains the registration.
    var address: DeviceAddress?
    var state = DeviceState.registered
}

/// An event that a stage rejected or crashed on.
struct RejectedEvent: Sendable {
    let type: String
    /// Nil if the event is not a command about a record, a subscription, a device or a badge.
    let subject: CommandSubject?
    let fingerprint: Int
    var newest: NewestCommand?
}

/// The current state of a device, compared with its registration at the time of the push.
enum DeviceState: Sendable {
    /// Registered with the same address; also if the log contains no registration to compare.
    case registered
    /// Registered again, with another token, topic or transport.
    case registeredAnew
    case unregistered
    case retired
    /// Another device has registered with the token.
    case replaced
}
