/// What becomes of a push at a device in the end: every `outcome` in the outcomes log has one of these words.
///
/// The words are stable; the manual's page on codes lists them.
package enum OutcomeCode: String, CaseIterable, Sendable, Hashable {
    case accepted
    case failed
    case unregistered
    case expired
    case superseded
    case excludedOrigin = "excluded_origin"
    case unknownTransport = "unknown_transport"
    case noDevice = "no_device"

    /// What it says, in one sentence.
    package var meaning: String {
        switch self {
        case .accepted: "The transport's other side took the push. Nobody says whether the device showed it."
        case .failed: "Given up: `reason` says why, in the other side's words or ours."
        case .unregistered:
            "The device's token is no longer valid: `since` and `registered` say when it ended and began. Or the device was "
                + "unregistered, or registered for another app, while the push waited."
        case .expired: "The push's `apns-expiration` had passed, or it allowed one attempt and that came to nothing."
        case .superseded: "A newer push of the same collapse ID, `by`, came for the device while this one waited."
        case .excludedOrigin: "The device made the change itself."
        case .unknownTransport: "The device registered with a transport that the pipeline does not have."
        case .noDevice: "The user had no device, or not the one that a push was to be redriven to."
        }
    }

    /// Whether the push was for a device that never got it: `belfry dead-letters` lists it, and may redrive it.
    ///
    /// Left out are pushes that nobody was to have: the device's own changes, what a newer push stands for, and users
    /// without a device.
    package var isDeadLetter: Bool {
        switch self {
        case .failed, .unregistered, .expired, .unknownTransport: true
        case .accepted, .superseded, .excludedOrigin, .noDevice: false
        }
    }
}
