import PipelineKit
import Time

extension DeliverStage {
    /// An app whose pushes wait until its transport takes one of them.
    struct StoppedApp: Sendable {
        let transport: String
        let container: String
        let environment: String
        let topic: String?
        let probeAt: Instant
        /// How many of its pushes wait.
        let waiting: Int
        /// Whether nothing but unknown devices was met: no other question to the other side shows what is wrong.
        let isOfUnknownDevices: Bool

        /// What to do about devices that are all unknown.
        static let remedyOfSuspicion =
            "Compare the transport's host and the app's environment and topic with what the app is built for, and the "
            + "tokens with what it was given (a probe does not show which tokens are known)"
    }

    /// In the order in which they were stopped.
    var stoppedApps: [StoppedApp] {
        registry.apps.held.compactMap { place in
            guard let hold = registry.apps[place].hold else { return nil }
            let key = registry.apps.keys[place]
            return StoppedApp(
                transport: key.transport, container: key.app.container, environment: key.app.environment,
                topic: key.app.topic, probeAt: hold.probeAt, waiting: pending.held(of: place).count,
                isOfUnknownDevices: registry.apps[place].isSuspicious)
        }
    }
}
