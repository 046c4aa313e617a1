import Events
import JSON
import PipelineKit
import Time

/// Something that did not get through: an event that a stage could not use, or a push that came to nothing at a device.
package struct Letter: Sendable {
    /// Where it is on record: in a log of dead letters, or among the outcomes.
    package let place: EventPlace
    let time: Instant
    let stage: String
    /// Of the stage's rejection, or of the outcome.
    let code: String
    let reason: String
    var status: Int64?
    /// The event that could not be used, or the push.
    let subject: EventPlace
    /// The newest change behind it; nil where there is none.
    var change: UInt64?
    var content: Content
    var container: ExactText?
    var environment: ExactText?
    var user: ExactText?
    var device: ExactText?
    var transport: String?
    var topic: ExactText?
    /// The event of the changes log by which it was redriven.
    var redriven: UInt64?

    enum Content: Sendable {
        /// What is known of the push by the log that deliver reads; nil where that no longer holds it.
        case push(PastPush?)
        case event(PastEvent)
    }

    var type: String {
        switch content {
        case .push: "push"
        case .event(let event): event.type
        }
    }

    var isPush: Bool { if case .push = content { true } else { false } }

    var past: PastPush? { if case .push(let push) = content { push } else { nil } }
}

/// A push that came to nothing.
struct PastPush: Sendable {
    var expiresAt: Instant?
    /// What newer pushes take its place by; its number in ``PushHistory``.
    var collapse: Int?
    /// The same for its badge.
    var badge: Int?
    /// Whether it shows nothing but a badge.
    var isBadgeAlone = false
    /// Whether a newer push has set the badge since.
    var isBadgeOld = false
    /// Where the push stood that this one is a redrive of; its own sequence where it is none.
    var order: UInt64
    /// How the device was registered when the push came; nil where the log no longer tells.
    var address: DeviceAddress?
    var state = DeviceState.registered
}

/// An event that a stage could not use.
struct PastEvent: Sendable {
    let type: String
    /// What it is about, where it is a command; nil for all else.
    let thing: CommandSubject?
    /// Tells commands about one thing apart.
    let fingerprint: Int
    /// The newest command about the same.
    var newest: NewestCommand?
}

/// Which of a user's devices.
struct DeviceKey: Hashable, Sendable {
    let user: UserKey
    let device: ExactText
}

struct UserKey: Hashable, Sendable {
    let container, environment, user: ExactText
}

extension UserKey {
    init?(_ json: JSONValue) {
        guard let container = json[.container]?.exact, let environment = json[.environment]?.exact,
            let user = json[.user]?.exact
        else { return nil }
        self.init(container: container, environment: environment, user: user)
    }
}

/// Where a device is reached: no two devices hold the same.
struct DeviceAddress: Hashable, Sendable {
    let container, environment, transport, token: ExactText
    let topic: ExactText?

    init?(_ json: JSONValue) {
        guard let container = json[.container]?.exact, let environment = json[.environment]?.exact,
            let transport = json[.transport]?.exact, let token = json[.token]?.exact
        else { return nil }
        (self.container, self.environment, self.transport, self.token) = (container, environment, transport, token)
        topic = json[.topic]?.exact
    }
}

/// How a device of the past stands by now.
enum DeviceState: Sendable {
    case registered
    /// With another token, topic or transport.
    case registeredAnew
    case unregistered
    case retired
    /// Another device has its token.
    case replaced
}
