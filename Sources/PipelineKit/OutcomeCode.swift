/// The final result of a push at a device: the `outcome` of events in the outcomes log.
///
/// Codes do not change between versions; the manual has a page on them.
package enum OutcomeCode: String, CaseIterable, Sendable, Hashable {
    case accepted
    case failed
    case unregistered
    case expired
    case superseded
    case excludedOrigin = "excluded_origin"
    case unknownTransport = "unknown_transport"
    case noDevice = "no_device"

    /// The code's meaning, in one sentence.
    package var meaning: String {
        switch self {
        case .accepted: "The push service accepted the push. It does not report whether the device showed the push."
        case .failed: "The push was given up; `reason` says why, in the push service's words or in Belfry's."
        case .unregistered:
            "The device's token is no longer valid: `since` says when it became invalid, and `registered` when the device "
                + "was registered. Or the device was unregistered, or registered for another app, while the push waited."
        case .expired: "The push's `apns-expiration` had passed, or its only allowed attempt failed."
        case .superseded:
            "A newer push with the same collapse ID came for the device while this one waited; `by` is the sequence of "
                + "the newer push."
        case .excludedOrigin: "The device made the change itself."
        case .unknownTransport: "The device registered with a transport that the pipeline does not have."
        case .noDevice: "The user had no device, or no longer had the device of a redriven push."
        }
    }

    /// Whether the push should have reached a device and did not. `belfry dead-letters` lists such pushes and can
    /// redrive them.
    ///
    /// A push that no device should get is not a dead letter: a push for the device that made the change, a push for a
    /// user without a device, and a push that a newer push has replaced.
    package var isDeadLetter: Bool {
        switch self {
        case .failed, .unregistered, .expired, .unknownTransport: true
        case .accepted, .superseded, .excludedOrigin, .noDevice: false
        }
    }
}
