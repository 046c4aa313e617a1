import EventLog
import PipelineKit

extension DeliverStage {
    /// An app whose pushes wait until its transport takes one of them.
    public struct StoppedApp: Sendable {
        public let transport: String
        public let container: String
        public let environment: String
        public let topic: String?
        public let probeAt: Instant
        /// How many of its pushes wait.
        public let waiting: Int
    }

    /// In the order in which they were stopped.
    public var stoppedApps: [StoppedApp] {
        registry.apps.held.compactMap { place in
            guard let hold = registry.apps[place].hold else { return nil }
            let key = registry.apps.keys[place]
            return StoppedApp(
                transport: key.transport, container: key.app.container, environment: key.app.environment,
                topic: key.app.topic, probeAt: hold.probeAt, waiting: pending.held(of: place).count)
        }
    }
}
